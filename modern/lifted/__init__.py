"""Lifted workloads under a `tf.distribute` strategy: each replica runs the old graph's own ops.

Pieces of the graph are cut by `workloads.lifted`, by a plan that `legacy.saved` made. Start with `step.py`.
"""
