"""A lifted workload under a `tf.distribute` strategy: the old graph's own ops as a replica function.

Here: how pieces of an old graph run on replicas. Not here: how they were found (`legacy.saved`).
Start with `step.py`, then `function.py` and `exchange.py`."""
