"""One file for each optimisation that can be switched in place."""
