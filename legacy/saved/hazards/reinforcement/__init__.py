"""Hazards of reinforcement learning: targets of values, advantages, entropies and ratios of policies.

Here: losses whose gradients reach what they should not, or whose signs are wrong. Not here: other losses.
Start with `policies.py`."""
