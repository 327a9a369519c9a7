"""Causes in what a step is given: initial weights and slots, batches, numbers of examples, dropout masks.

A difference here is in the values that enter the model, before any of its operations. Not here: what the model, its
loss and its gradients make of them (`parity.causes.gradients`). Start with `input_batches.py`;
its faults are in `faulty_batches.py`.
"""
