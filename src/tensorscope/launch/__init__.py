"""Find, start and stop target processes."""
