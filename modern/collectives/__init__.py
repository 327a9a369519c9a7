"""Communication between replicas: all-reduce algorithms, exchange of tensors, strategies, links between GPUs.

Here: every transfer of tensors between replicas. Not here: what they compute (`modern.mirrored`, `modern.lifted`).
Start with `exchange.py` (inside a step), then `strategy.py` and `all_reduce.py` (its transport).
"""
