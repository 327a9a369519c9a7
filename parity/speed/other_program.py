"""Programs of the user's, in any framework, that are timed in the same rounds: what `--others` starts.

The protocol, in lines on standard input and output:

    hello    ->  {"name": "my port in PyTorch", "examples_per_step": 64}
    run 20   ->  done        after 20 steps whose last loss was read
    quit     ->              the program ends

The answer to hello may also say "input": "resident" (the default) or "streamed", and "workload": the only one that the
program is for. Everything else that a program prints belongs on standard error.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from parity.comparison.setup import Setup
from parity.processes.line_process import LineError, LineProcess
from parity.speed.entrants import Entrant
from parity.speed.names import INPUTS, LEGACY, MODERN, ONE_DEVICE, RESIDENT
from parity.speed.speed_result import Contestant
from parity.speed.timing import RunnerFailed
from workloads.support.errors import InputError, require

#: The flag, in messages.
FLAG = "--others"

#: The line that a program is told to end by.
QUIT = "quit"

#: Prefix of the environment variables that describe the job to a program.
PREFIX = "TOWER_PARITY_"

#: Characters of an answer that a message shows.
SHOWN = 80


class OtherProgram:
    """A running program that answered hello, as a `timing.Runner`.

    Args:
      path: of the program, for messages.
      process: the running program.
      seconds: to wait for an answer.
    """

    def __init__(self, path: str, process: LineProcess, seconds: float) -> None:
        self._path, self._process, self._seconds = path, process, seconds

    def run(self, steps: int) -> None:
        """Takes `steps` steps.

        Raises:
          RunnerFailed: the program ended, was silent or answered something else; it is stopped.
        """
        try:
            answer = self._process.ask(f"run {steps}", self._seconds)
        except LineError as error:
            self._fail(str(error))
        if answer != "done":
            self._fail(f"answered {_shown(answer)} to run {steps}, must be done")

    def _fail(self, why: str) -> None:
        self._process.stop()
        raise RunnerFailed(f"{self._path} {why}")


def enter_others(
    stack: contextlib.ExitStack, paths: Sequence[str], setups: Mapping[str, Setup], size: str, seconds: float
) -> list[Entrant]:
    """Starts the programs, once for each input that is measured, and asks each who it is.

    A program that does not have the input that it was started for is ended and left out; one that is for another
    workload is ended too.

    Args:
      stack: ends the programs.
      paths: of the programs.
      setups: {input: the job}.
      size: of the workload, for the programs.
      seconds: to wait for an answer.

    Returns:
      the programs; without a runner where they are for another workload.

    Raises:
      InputError: one cannot be run, ends, is silent, or answers something else; or two have one name.
    """
    entrants: list[Entrant] = []
    for path in paths:
        inputs = []
        for kind, setup in setups.items():
            process = LineProcess(path, _variables(setup, kind, size))
            stack.callback(process.stop, QUIT)
            contestant, workload = _hello(path, process, seconds)
            inputs.append(contestant.input)
            if contestant.input != kind:
                process.stop(QUIT)
            elif workload not in (None, setup.job.workload.name):
                process.stop(QUIT)
                contestant.note = f"is for {workload}"
                entrants.append(Entrant(contestant, None))
            else:
                entrants.append(Entrant(contestant, OtherProgram(path, process, seconds)))
        require(set(inputs) & set(setups), FLAG, path, f"its input is {inputs[0]}, --inputs has {', '.join(setups)}")
    names = [(entrant.contestant.name, entrant.contestant.input) for entrant in entrants]
    for name, kind in names:
        taken = names.count((name, kind)) > 1 or name in (LEGACY, MODERN, ONE_DEVICE)
        require(not taken, FLAG, name, "the name of two programs; each needs its own")
    return entrants


def _variables(setup: Setup, kind: str, size: str) -> dict[str, str]:
    """The environment variables that describe a job."""
    job = setup.job
    about = {
        "WORKLOAD": job.workload.name,
        "SIZE": size,
        "GLOBAL_BATCH": str(job.global_batch),
        "REPLICAS": str(job.replicas),
        "INPUT": kind,
    }
    return {PREFIX + name: text for name, text in about.items()}


def _hello(path: str, process: LineProcess, seconds: float) -> tuple[Contestant, str | None]:
    """(the program as it describes itself, the only workload that it is for)."""
    try:
        answer = process.ask("hello", seconds)
    except LineError as error:
        raise InputError(f"{FLAG}: got {path!r}, {error}")
    about = _as_object(answer)
    allowed = f"answered {_shown(answer)} to hello, must be one line of JSON"
    require(about is not None, FLAG, path, f'{allowed}: {{"name": text, "examples_per_step": number}}')
    assert about is not None
    name, examples = about.get("name"), about.get("examples_per_step")
    kind, workload = about.get("input", RESIDENT), about.get("workload")
    require(
        isinstance(name, str) and 0 < len(name) <= SHOWN and name.isprintable(), FLAG, path, f'{allowed} with "name"'
    )
    is_number = isinstance(examples, (int, float)) and not isinstance(examples, bool)
    usable = is_number and math.isfinite(examples) and examples > 0  # type: ignore[arg-type, operator]  # a number
    require(usable, FLAG, path, f'{allowed} with "examples_per_step" above 0')
    require(kind in INPUTS, FLAG, path, f'{allowed} with "input": {" or ".join(INPUTS)}')
    require(workload is None or isinstance(workload, str), FLAG, path, f'{allowed} with "workload": text')
    settings = {"program": path, "input": kind}
    return Contestant(name, kind, examples, settings), workload  # type: ignore[arg-type]  # checked above


def _as_object(answer: str) -> dict[str, Any] | None:
    try:
        about = json.loads(answer)
    except (ValueError, RecursionError):
        return None
    return about if isinstance(about, dict) else None


def _shown(answer: str) -> str:
    return repr(answer if len(answer) <= SHOWN else answer[: SHOWN - 1] + "…")
