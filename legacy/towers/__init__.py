"""Tower programs built from a workload: the graph with its loop over devices, and the session that runs it.

Here: the graph, its inputs, optimizers and servers. Not here: graphs that somebody else saved (`legacy.rerun`).
Start with `graph.py` (the loop over towers), then `program.py` (the session).
"""
