"""Replays of an old program: its saved graph in a session, and the recordings that its original run left.

Start with `program.py`; the analysis of the graph is in `legacy.saved`.
"""
