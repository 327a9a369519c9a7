"""The page of `parity.diagnose --report`: causes, losses, and where and when two recordings differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from parity.comparison import stages
from parity.comparison.difference import compare
from parity.comparison.history import History
from parity.diagnosis.steps.compared_step import ComparedStep
from parity.html.cause_blocks import cause_blocks, layer_blocks
from parity.html.pictures import difference_pictures, loss_pictures
from workloads.html.page import Section, listing, page


def diagnosis_page(
    names: tuple[str, str],
    passed: bool,
    content: Mapping[str, Any],
    steps: Iterable[ComparedStep],
    notes: Sequence[str],
) -> str:
    """Returns the page of one diagnosis.

    Args:
      names: of the left and the right recording.
      passed: whether nothing is to be mended.
      content: the content of `--json`, see `parity.reports.causes.causes_json`.
      steps: of both recordings.
      notes: sentences on values that were not compared, and on differences of the recordings' jobs.

    Returns:
      the HTML document.
    """
    history = history_of_steps(steps)
    ids = ", ".join(entry["cause"] for entry in content["causes"])
    verdict = "NOTHING TO MEND" if passed else "THE RUNS DIFFER"
    sections = [
        Section("Causes", cause_blocks(content)),
        Section("Which layer?", layer_blocks(content)),
        Section("Notes", [listing(notes)] if notes else []),
        Section("Losses", loss_pictures(history, names)),
        Section("Where the two sides differ", difference_pictures(history, "exact")),
        Section("Facts", [listing(content["facts"])]),
    ]
    mood = "good" if passed else "bad"
    return page(f"{names[0]} and {names[1]}", f"{verdict}: {ids or 'no known cause'}", mood, sections)


def history_of_steps(steps: Iterable[ComparedStep]) -> History:
    """Returns the history of two runs along their own trajectories: the tensors that both sides recorded alike."""
    history = History()
    for step in steps:
        if step.locked:
            continue
        history.add_losses(step.left, step.right)
        right = {(stage, name): array for stage, name, array in stages.tensors(step.right)}
        for stage, name, array in stages.tensors(step.left):
            other = right.get((stage, name))
            if other is not None and _are_alike(array, other):
                history.add(step.left.step, stage, compare(name, array, other), 0.0)
    return history


def _are_alike(left: np.ndarray, right: np.ndarray) -> bool:
    return left.shape == right.shape and left.dtype == right.dtype
