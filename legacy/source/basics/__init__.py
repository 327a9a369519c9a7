"""Basis of all stages: expressions, their text, and the forward pass with its constants computed.

`expressions` are small trees, `rendering` is their text, `cut` takes a part out of a lift's graph, `typed` finds what
in it is constant, and `forward` which constants follow the batch.
"""
