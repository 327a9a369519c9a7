"""Basis of all stages: expressions, their text, and the forward pass with its constants computed.

`expressions` are small trees, `rendering` lays them out, `forward` cuts a part out of a lift's graph and finds what in
it is constant, and which constants follow the batch.
"""
