"""The studies by name, with the question that each answers. Needs no TensorFlow."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from parity.experiments.studies.report import Report
    from parity.speed.timing import Progress


class Study(NamedTuple):
    """A study that `python -m parity.study --name=` runs.

    Attributes:
      name: value of the flag.
      question: what it answers, as a question of one line.
      module: module with a function `run_study(quick, progress)` that returns its `Report`.
    """

    name: str
    question: str
    module: str

    def run(self, quick: bool, progress: Progress) -> Report:
        """Measures and answers.

        Args:
          quick: takes less than a minute, too short to answer anything; for trying and for tests.
          progress: called with (text, number done, number in all).
        """
        run_study: Callable[[bool, Progress], Report] = importlib.import_module(self.module).run_study
        return run_study(quick, progress)


_FOLDER = "parity.experiments.studies."

STUDIES = {
    study.name: study
    for study in (
        Study(
            "pinned_towers",
            "Why is the tower version five times slower than one GPU, and what is gained by mending it?",
            _FOLDER + "pinned_towers",
        ),
        Study(
            "communication",
            "Where does communication begin to dominate, so that one card is best?",
            _FOLDER + "communication",
        ),
        Study(
            "overlap",
            "Are the towers of one `for` loop run one after the other, or at the same time?",
            _FOLDER + "overlap",
        ),
        Study(
            "input",
            "What does input cost, real against made-up, and how far is each way from the step's own speed?",
            _FOLDER + "input_cost",
        ),
        Study(
            "scaling",
            "How does throughput grow from one device to four, and do steps per call or the data format raise it?",
            _FOLDER + "scaling",
        ),
    )
}
