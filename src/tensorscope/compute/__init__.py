"""Pure functions on arrays: no Qt, no torch, no I/O."""
