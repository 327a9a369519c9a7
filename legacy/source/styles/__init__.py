"""Text of a source: the module of a workload, or of losses whose update is imported from the lift.

`workload_style` and `imported_style` are the two; `docstring` has what either says of itself.
"""
