"""Causes between the replicas' gradients and the optimizer: factors of sums and means, and clipping.

A factor of the loss belongs here too: only the combined gradient distinguishes a loss that was not divided from a sum
in place of a mean. Not here: gradients that are wrong within one replica (`parity.causes.gradients`). Start with
`scale.py`.
"""
