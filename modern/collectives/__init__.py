"""Communication between replicas: strategies, all-reduce algorithms, collectives on packed tensors, GPU links.

Here: everything that moves tensors between devices. Not here: what a training step computes.
Start with `strategy.py`, then `all_reduce.py`."""
