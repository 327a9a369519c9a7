"""Text of an update's changes of variables.

`actions` and `waves` find the changes and their order, also in branches; `calls` writes one of them, `wave_lines` and
`towers` write what is alike for several weights and towers once, and `cond_lines` branches as functions. Start with
`lines`.
"""
