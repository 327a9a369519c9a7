"""An update that no named field of a workload describes, written as the old graph computes it.

`paths` finds how the towers' gradients reach it; `actions` and `waves` find its changes and their order, also in
branches; `changes` writes one of them, `wave_lines` and `towers` what is alike for several weights and towers once, and
`cond_lines` branches as functions. Start with `lines`.
"""
