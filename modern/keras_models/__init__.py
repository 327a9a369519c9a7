"""A trained state in a user's own Keras 3 model: weights, statistics and the optimizer's slots, verified by a step.

Start with `export.py`.
"""
