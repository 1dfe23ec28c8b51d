"""What memory holds, why, and what would have fitted: one panel a question."""
