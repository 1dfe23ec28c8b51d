"""Time, loss and memory peak of every step."""
