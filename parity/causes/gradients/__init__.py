"""Causes in a replica's own forward and backward pass: layers, precision, variables, values of loss and gradients.

`faulty_layers` has the layers that the faults put in place of healthy ones. Not here: the penalties of the loss
(`parity.causes.penalties`), and what replicas do to each other's gradients (`parity.causes.combining`). Start with
`network.py`.
"""
