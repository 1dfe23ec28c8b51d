"""Sockets and session files: how frames reach the window and the disk."""
