"""Studies: the questions that the five write-ups leave open, each answered by measurements on this machine.

Here: one module a study, and what studies share: programs in processes of their own, and the page. Not here: flags,
and the study of synchronous and asynchronous training (`parity.experiments.sync_or_async`).
Start with `catalogue.py`, then `overlap.py`."""
