"""The replicas' batches: from Python or from a `tf.data` pipeline to each replica's device.

Here: batches on their way to the devices. Not here: how they are made (`workloads.sources`, `workloads.data`).
Start with `replica_input.py`.
"""
