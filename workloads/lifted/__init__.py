"""A lifted workload: an old program's own graph, cut into the pieces that a replica runs, and where each one goes."""
