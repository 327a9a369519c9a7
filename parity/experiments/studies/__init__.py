"""Studies: the questions that the five write-ups leave open, each answered by measurements on this machine.

Here: one module a study, and the page that all have; in `alternatives`, the programs that they time. Not here: flags,
and the study of synchronous and asynchronous training (`parity.experiments.sync_or_async`).
Start with `catalogue.py`, then `overlap.py`."""
