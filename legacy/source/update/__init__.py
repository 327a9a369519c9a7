"""An update that no named field of a workload describes, written as the old graph computes it.

`paths` finds how the towers' gradients reach it, `waves` the order of its changes, `changes` writes one of them,
`towers` and `lines` find what is alike for several towers and several weights, which is written once.
"""
