"""Signatures: traces that a fault leaves in single arrays, such as another variable's values or fewer bits of mantissa.

Here: what each variable of a stage should be, from that side's own inputs, and recognizers of such traces. Not here:
which cause they stand for (`parity.causes`). Start with `stage_values.py`.
"""
