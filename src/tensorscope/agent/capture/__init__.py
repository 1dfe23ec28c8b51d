"""One file for each kind of thing that is captured."""
