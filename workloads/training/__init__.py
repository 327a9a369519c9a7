"""The training loop of both trainers: progress, checkpoints, resumption, summaries, its flags.

Here: what happens around steps. Not here: a step itself (`Program.step`).
Start with `loop.py`."""
