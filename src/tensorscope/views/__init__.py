"""One folder per view, and the items they share."""
