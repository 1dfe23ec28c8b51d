"""The `tensorscope` command: one module a verb."""
