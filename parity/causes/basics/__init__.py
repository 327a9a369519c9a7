"""Basis of all causes: the elements of the catalogue, and the ways to change one side of a comparison.

`cause` has `Cause`, `Finding` and `Fault`, `injection` the `Change` that a fault makes, `gradient_changes` the changes
of gradients that several causes inject. Not here: any cause. Start with `cause.py`.
"""
