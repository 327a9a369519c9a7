"""Hazards of standardized values: by what a difference from the mean is divided, and how the result is scaled.

Here: normalizations of layers by hand, and by `tf.nn.batch_normalization`. Not here: their axes, in `moments`.
Start with `deviations.py`.
"""
