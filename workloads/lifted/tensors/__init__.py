"""Tensors of an old graph by what they are: a tower's forward pass, other towers' tensors like them, their gradients.

Here: what the structure and the names of a graph tell, without running it. Start with `lift_taps.py`.
"""
