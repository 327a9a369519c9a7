"""All broken workloads, by when their faults are found."""

from __future__ import annotations

from tests.broken_workloads import inputs, losses, steps

#: Faults that are found before anything runs, and those that are found while steps are taken.
AT_BUILD = [*losses.AT_BUILD, *inputs.AT_BUILD]
AT_RUN = [*inputs.AT_RUN, *steps.AT_RUN]
