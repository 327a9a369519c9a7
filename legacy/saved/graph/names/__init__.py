"""Names of a saved graph's nodes, where a program chose others than TensorFlow does by itself.

`gradient_scopes` renames gradient graphs, whose names tell what their ops differentiate. Not here: what is asked of the
names, in `workloads.lifted.tensors.gradient_names`.
"""
