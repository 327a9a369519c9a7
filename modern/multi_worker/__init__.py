"""Several processes: MultiWorkerMirroredStrategy, parameter servers, and the cluster that a process belongs to.

Here: programs and servers of several processes. Not here: training steps of one process (`modern.mirrored`).
Start with `cluster_config.py`, then `cluster_program.py`.
"""
