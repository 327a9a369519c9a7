"""Text of an update's changes of variables.

`actions` and `waves` find the changes and their order, also in branches; `calls` writes one of them, `wave_lines` what
several of them need, `weight_loops` and `towers` what is alike for several weights and towers once, and `cond_lines`
branches as functions. Start with `lines`.
"""
