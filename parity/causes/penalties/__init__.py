"""Causes in the penalties of the loss: how often they count, of which weights they are, and at which rate they decay.

`decay_ratios` fits the decay of the port relative to legacy's, for the causes of all three files. Not here: a decay
that an optimizer applies on its own (`parity.causes.update`). Start with `regularization.py`.
"""
