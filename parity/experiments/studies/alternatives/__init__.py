"""Alternatives that the studies compare: programs in processes of their own, timed in turns or predicted.

Here: how alternatives run, and the forms of a job that one study compares. Not here: questions and answers, which are
the studies.
Start with `turns.py`."""
