"""Hazards of means and maxima along another axis than the one that is meant.

Here: pooling of what layers give. Not here: shares that add up to 1, in `shares`; moments, in `moments`.
Start with `pooled_channels.py`.
"""
