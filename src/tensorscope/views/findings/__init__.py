"""What the rules found."""
