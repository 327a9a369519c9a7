"""Causes in what is kept beside the weights: moving statistics of batch normalization, moving averages of weights.

`faulty_batch_norm` and `faulty_averages` have the code that the faults put in place of the healthy one. Not here:
dropout masks and batches (`parity.causes.inputs`). Start with `moving_statistics.py`.
"""
