"""Value types, wire format and column schema shared by the target and the window.

Everything the agent imports from here is plain Python 3.10 and the standard library, because
it runs inside environments that have torch and nothing of ours.
"""
