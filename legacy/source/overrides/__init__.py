"""Ops with an overridden gradient: from the backward ops of the old graph to a function with a derivative of its own.

Here: `backward` finds an op's backward ops, `marking` copies them before the op, so that they are recovered as the
forward pass is, and `writing` makes the text of them. Not here: which ops a program has overridden
(`legacy.saved.derivatives`).
Start with `marking.py`."""
