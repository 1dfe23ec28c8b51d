"""Optimisations switched in place and compared."""
