"""Results of `parity.verify` and `parity.diagnose`: a command's `--json` file, and the report it printed."""

from __future__ import annotations

import dataclasses
import html
from typing import Any

from workloads.html.page import paragraph, table
from workloads.support.wording import counted


@dataclasses.dataclass(frozen=True, repr=False)
class _Result:
    """A command's result.

    Attributes:
      content: of the command's `--json` file.
      text: the report as it was printed.
    """

    content: dict[str, Any]
    text: str

    @property
    def causes(self) -> list[str]:
        """Ids of the recognized causes, the most likely first; see docs/causes.md."""
        return [entry["cause"] for entry in self.content["causes"]]

    def __str__(self) -> str:
        return self.text

    def _sentences(self) -> list[str]:
        return [f"{entry['cause']}: {entry['sentence']}" for entry in self.content["causes"]]


@dataclasses.dataclass(frozen=True, repr=False)
class Verification(_Result):
    """The result of `parity.verify`; `str` gives the whole report."""

    @property
    def verdict(self) -> str:
        """ "parity"; "no parity"; "not shown": all that was compared agrees, and something that matters was not."""
        return str(self.content["verdict"])

    @property
    def passed(self) -> bool:
        """Whether parity was shown."""
        return self.verdict == "parity"

    @property
    def steps(self) -> int:
        """Number of steps that were compared."""
        return int(self.content["steps"])

    @property
    def not_shown(self) -> list[str]:
        """Choices of the workload, with reasons, that the comparison did not exercise."""
        return list(self.content["not_shown"])

    def summary(self) -> dict[str, Any]:
        """Returns this result's entry in a list of them: workload, verdict, steps, causes, reasons of NOT SHOWN."""
        return {
            "workload": self.content["workload"],
            "verdict": self.verdict,
            "steps": self.steps,
            "causes": self.causes,
            "not_shown": self.not_shown,
        }

    def __repr__(self) -> str:
        lines = [f"<Verification of {self.content['workload']}: {self.verdict}, {counted(self.steps, 'step')}"]
        return "\n  ".join([*lines, *self.not_shown, *self._sentences()]) + ">"

    def _repr_html_(self) -> str:
        return _html(
            f"{self.content['workload']}: {self.verdict}, {counted(self.steps, 'step')}",
            [*self.not_shown, *self._sentences()],
            ["stage", "tensors", "elements that differ", "largest relative difference", "largest difference, ulps"],
            [
                [
                    name,
                    str(stage["tensors"]),
                    f"{stage['differing_elements']} of {stage['elements']}",
                    f"{stage['max_rel']:.2g}",
                    str(stage["max_ulp"]),
                ]
                for name, stage in self.content["stages"].items()
            ],
        )


@dataclasses.dataclass(frozen=True, repr=False)
class Diagnosis(_Result):
    """The result of `parity.diagnose`; `str` gives the whole report.

    Attributes:
      status: the command's exit status; see `passed`.
    """

    status: int

    @property
    def passed(self) -> bool:
        """Whether the runs differ by rounding or in other terms only, and all weights were compared."""
        return self.status == 0

    def __repr__(self) -> str:
        return "\n  ".join([f"<Diagnosis: {'no bug' if self.passed else 'differs'}", *self._sentences()]) + ">"

    def _repr_html_(self) -> str:
        rows = [
            [entry["cause"], entry["sentence"], entry["confidence"], entry["fix"]] for entry in self.content["causes"]
        ]
        headline = "no bug" if self.passed else "the runs differ"
        return _html(headline, self.content["facts"], ["cause", "what", "confidence", "fix"], rows)


def _html(headline: str, lines: list[str], header: list[str], rows: list[list[str]]) -> str:
    """Returns a headline, lines and a table as HTML; no table without rows."""
    blocks = [f"<p><b>{html.escape(headline)}</b></p>", *map(paragraph, lines)]
    return "".join([*blocks, table(header, rows)] if rows else blocks)
