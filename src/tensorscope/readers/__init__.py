"""Foreign memory files turned into the frames of a session.

Each format has a module that turns a loaded document into an `AllocatorFile`; `frames` makes the
frames of it. All of that runs in a child process (`child`, `__main__`): a hostile pickle can exhaust
memory or crash the interpreter, and loading one holds the interpreter lock.
"""
