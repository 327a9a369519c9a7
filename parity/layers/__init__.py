"""The layer in which a difference begins, from the taps of one step: tensors inside the model, see `workloads.taps`.

Start with `first_layer.py`. Not here: which tensors differ, which `parity.comparison` decides.
"""
