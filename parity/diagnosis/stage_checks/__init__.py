"""Checks every stage of a step from that stage's own recorded inputs, tensor by tensor, in float64.

Here: each stage's mathematics and its rounding bound. Differences do not propagate: new weights are checked against the
recorded gradient, slots and learning rate, whatever made those. Not here: causes of what is off (`parity.causes`).
Start with `tensor_error.py`, then `update_check.py`; `deviation.py` sums the errors up over the steps.
"""
