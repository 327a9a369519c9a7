"""A process that runs the port under some settings: compares it with the towers first, then takes steps when asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from parity.comparison.runs.options import Companions, Criterion
from parity.comparison.runs.verification import verify
from parity.comparison.setup import Setup
from parity.reports.verification_text import verification_verdict
from parity.tuning.settings import Settings
from workloads.support.errors import InputError, Lost
from workloads.support.machine import allocator
from workloads.support.processes.child_processes import Child, Speaker


class Answer(NamedTuple):
    """The first message of a process.

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
        arguments = (settings.apply(setup), dict(settings.variables), steps, warm_up)
        self._child = Child("the port", serve_steps, arguments, variables=dict(settings.variables))

    def compare(self) -> Answer:
        """Waits for the comparison and the warm-up; a port that cannot run under its settings has not passed."""
        try:
            return Answer(*self._child.receive())
        except (InputError, Lost) as error:
            return Answer(False, str(error))

    def run(self, steps: int) -> None:
        """Takes `steps` steps."""
        self._child.send(steps)
        self._child.receive()

    def close(self) -> None:
        """Ends the process."""
        self._child.kill()


def serve_steps(speaker: Speaker, setup: Setup, variables: Mapping[str, str], steps: int, warm_up: int) -> None:
    """Runs in the process: compares the sides, then takes as many steps as each message asks for.

    Args:
      speaker: to the process that asks.
      setup: the job under its settings.
      variables: environment variables of the settings.
      steps: number of steps to compare.
      warm_up: number of steps to take before the first message.
    """
    set_allocator(variables)
    with setup.modern_program() as program:
        with setup.legacy_program() as towers, setup.closing_references() as references:
            verification = verify(
                towers, program, setup.job, steps, Criterion("locked", "auto"), Companions(references=references)
            )
        if verification.passed:
            program.run(warm_up)
        speaker.say(tuple(Answer(verification.passed, verification_verdict(verification))))
        for count in iter(speaker.listen, None) if verification.passed else ():
            program.run(count)
            speaker.say(count)


def set_allocator(variables: Mapping[str, str]) -> None:
    """Sets glibc's allocator as its environment variables would have at the start of the process."""
    allocator.set_sizes({name: int(variables[name]) for name in allocator.SETTINGS if name in variables})
