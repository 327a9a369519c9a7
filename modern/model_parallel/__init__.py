"""Model parallelism: a model's layers divided among devices, with micro-batches in a pipeline.

Here: a program whose pipeline stages share one `tf.function`. Not here: data parallelism (`modern.mirrored`).
Start with `step.py`, then `program.py`.
"""
