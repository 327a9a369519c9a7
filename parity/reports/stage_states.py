"""State of each stage while a comparison runs, in one line."""

from __future__ import annotations

from collections.abc import Mapping

from parity.comparison.stage_summary import StageSummary


def stage_states(stages: Mapping[str, StageSummary]) -> str:
    """Returns which stages have identical bits so far, which differ within their tolerance, and which beyond it.

    >>> stage_states({"batch": StageSummary(), "loss": StageSummary(differing_elements=1)})
    'identical: batch; within tolerance: loss'

    Args:
      stages: {stage: its summary so far}, in causal order.
    """
    states: dict[str, list[str]] = {"NOT EQUAL": [], "identical": [], "within tolerance": []}
    for name, stage in stages.items():
        if stage.failed is not None:
            states["NOT EQUAL"].append(f"{name} (step {stage.failed})")
        else:
            states["within tolerance" if stage.differing_elements else "identical"].append(name)
    return "; ".join(f"{state}: {', '.join(names)}" for state, names in states.items() if names)
