"""Source code from a saved graph: the training step of a lift's plan, written as a readable TensorFlow 2 program.

The stages are a decompiler's. `basics` cuts a tower's forward pass out of the graph and folds its constants,
`definitions` and `ops` turn ops into expressions, `statements` and `naming` make lines of them; `learning`,
`schedules`, `clipping` and `averages` find the named fields of a workload, and `update` writes one that has none;
a style writes the text.
Start with `source.py`.
"""
