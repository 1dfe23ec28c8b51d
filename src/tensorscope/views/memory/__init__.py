"""Live bytes over time, by category."""
