"""Text of a source: the module of a workload, or of losses whose update is imported from the lift.

`workload_style` and `imported_style` are the two; `model_text` has the functions of a model, which styles share, and
`docstring` what a source says of itself.
"""
