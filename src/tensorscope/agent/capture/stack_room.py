"""Room on the stack for the program to free a deep graph in."""

from __future__ import annotations

import resource
import sys
import threading

FREED_SAFELY = 20_000
"""Nodes in a chain that a stack of 8 MiB frees with room to spare; 50,000 overflow it."""
ROOM_BYTES = 120 << 20
"""Linux keeps at least 128 MiB of addresses below the stack free for it to grow into."""
FREED_WITH_ROOM = 250_000


def make_room() -> int:
    """Return how many nodes may be read, after making the most room that there can be.

    A node that Python has seen keeps its Python object, and such nodes are freed recursively, where torch
    frees unseen ones in a loop. The stack of the main thread grows on demand up to the soft limit, which
    may be raised at any time; the stacks of other threads are as large as they were made.
    """
    if not sys.platform.startswith("linux") or threading.current_thread() is not threading.main_thread():
        return FREED_SAFELY
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    enough = soft == resource.RLIM_INFINITY or soft >= ROOM_BYTES
    if not enough and hard != resource.RLIM_INFINITY and hard < ROOM_BYTES:
        return FREED_SAFELY
    if not enough:
        resource.setrlimit(resource.RLIMIT_STACK, (ROOM_BYTES, hard))
    return FREED_WITH_ROOM
