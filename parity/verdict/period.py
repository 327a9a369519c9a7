"""The period of a program whose train ops take turns, and what a comparison of fewer steps leaves out."""

from __future__ import annotations

from workloads.lifted.workload import as_lifted
from workloads.steps.workload import as_steps
from workloads.workload import Workload


def runs_of_period(workload: Workload) -> int:
    """Returns the number of runs after which a program's train ops begin again; 1 where there is one train op."""
    if workload.is_lifted:
        return len(as_lifted(workload).plan.phases)
    return len(as_steps(workload).train_ops()) if workload.has_own_step else 1


def too_few_steps(workload: Workload, steps: int) -> str:
    """Returns the reason why a comparison has too few steps to run each train op once, or "" if it has enough.

    Args:
      workload: that is compared.
      steps: that the comparison takes.

    Returns:
      the reason, for the verdict of a comparison in which something was not exercised.
    """
    runs = runs_of_period(workload)
    return f"the period has {runs} runs: --steps={runs} or more" if steps < runs else ""
