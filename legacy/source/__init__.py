"""Source code from a saved graph: the training step of a lift's plan, written as a readable TensorFlow 2 program.

The stages are a decompiler's. `basics` cuts a tower's forward pass out of the graph and folds its constants,
`definitions`, `idioms` and `ops` turn ops into expressions, `lines` makes lines of them, `repeats` functions and loops
of those that are alike, and `functions` their text, with loops over unrolled steps; `step` finds the named fields of a
workload, `update` writes an update that has none; `styles` and `standalone` write the text. Start with `source.py`.
"""
