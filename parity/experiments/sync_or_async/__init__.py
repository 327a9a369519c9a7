"""The study of synchronous and asynchronous training: its runs, the table of their losses, and the page.

Here: one question, answered by training. Not here: studies that measure programs (`parity.experiments.studies`).
Start with `runs.py`.
"""
