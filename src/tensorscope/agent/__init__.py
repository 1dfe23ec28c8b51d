"""The part that runs inside the target: standard library and torch only, never Qt."""
