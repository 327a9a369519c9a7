"""The port under some settings in a process of its own: compared with the towers first, then timed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple, cast

from parity.comparison.runs.options import Companions, Criterion
from parity.comparison.runs.verification import verify
from parity.comparison.setup import Setup
from parity.reports.verification_text import verification_verdict
from parity.speed.program_process import ProgramProcess
from parity.tuning.settings import Settings
from workloads.program import Program
from workloads.support.errors import InputError, Lost
from workloads.support.machine import allocator


class Answer(NamedTuple):
    """The outcome of the comparison of a port with the towers.

    Attributes:
      passed: whether the port under its settings is equal to the towers.
      verdict: of the comparison, in a sentence.
    """

    passed: bool
    verdict: str


class TunedProcess:
    """The port of a job under some settings, in a process of its own, as a `timing.Runner`.

    Args:
      setup: the job and its defaults.
      settings: the differences from them.
      steps: number of steps that are compared with the towers.
      warm_up: number of steps before the first that is timed.
    """

    def __init__(self, setup: Setup, settings: Settings, steps: int, warm_up: int) -> None:
        variables = dict(settings.variables)
        self._process = ProgramProcess("the port", variables)
        self._program = self._process.start(compared_port, settings.apply(setup), variables, steps, warm_up)

    def compare(self) -> Answer:
        """Waits for the comparison and the warm-up; a port that cannot run under its settings has not passed."""
        try:
            return cast(Answer, self._program.observe(_answer))
        except (InputError, Lost) as error:
            return Answer(False, str(error))

    def run(self, steps: int) -> None:
        """Takes `steps` steps."""
        self._program.run(steps)

    def close(self) -> None:
        """Ends the process."""
        self._process.close()


class ComparedPort:
    """A port under its settings, with the answer of its comparison.

    Args:
      program: the port.
      answer: whether it is equal to the towers.
    """

    def __init__(self, program: Program, answer: Answer) -> None:
        self._program, self.answer = program, answer

    def run(self, steps: int) -> None:
        """Takes `steps` steps."""
        self._program.run(steps)


@contextlib.contextmanager
def compared_port(setup: Setup, variables: Mapping[str, str], steps: int, warm_up: int) -> Iterator[ComparedPort]:
    """Context of a port that has been compared with the towers, and warmed up if it is equal to them.

    Args:
      setup: the job under its settings.
      variables: environment variables of the settings.
      steps: number of steps to compare.
      warm_up: number of steps to take after that.

    Yields:
      The port, with the answer of its comparison.
    """
    set_allocator(variables)
    with setup.modern_program() as program:
        with setup.legacy_program() as towers, setup.closing_references() as references:
            verification = verify(
                towers, program, setup.job, steps, Criterion("locked", "auto"), Companions(references=references)
            )
        if verification.passed:
            program.run(warm_up)
        yield ComparedPort(program, Answer(verification.passed, verification_verdict(verification)))


def _answer(port: ComparedPort) -> Answer:
    return port.answer


def set_allocator(variables: Mapping[str, str]) -> None:
    """Sets glibc's allocator as its environment variables would have at the start of the process."""
    allocator.set_sizes({name: int(variables[name]) for name in allocator.SETTINGS if name in variables})
