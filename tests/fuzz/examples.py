"""One damaged input: made from sound files, given to its command in a child process, and judged by how that ends."""

from __future__ import annotations

import hashlib
import os
import pathlib
import random
import re
import runpy
import shutil
import signal
import subprocess
import sys
import time
from typing import NamedTuple, NoReturn

from tests.fuzz import mutations
from tests.fuzz.corpus import KINDS
from tests.stderr import without_progress

#: How many different sound inputs there are of a kind.
CHOICES = 4
#: Seed that stands for no damage.
SOUND = -1
#: Seconds after which a command hangs, and bytes that it may use.
TIMEOUT, MOST_BYTES = 120.0, 2 << 30
#: Lines that TensorFlow's native code prints; with limits, as for graphs, commands do not pass them on.
_NATIVE = re.compile(r"[IWEF]\d{4} |\d{4}-\d\d-\d\d |WARNING: All log messages")
#: Exit statuses of commands that ended as they should.
STATUSES = (0, 1, 2, 3)
CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)


class Example(NamedTuple):
    """A damaged input: a kind of `corpus.KINDS`, one of its sound inputs, and the seed of the damage."""

    kind: str
    choice: int
    seed: int


class Outcome(NamedTuple):
    """End of a command.

    Attributes:
      damage: what was done to its input.
      status: exit status; negative for a signal.
      problem: what is wrong with how it ended; "" if nothing is.
      contained: whether a fork was ended by native code, or for its memory, which `isolation` tells in one line where
        the command has an interpreter of its own.
      text: what it printed on stderr.
      peak: most resident memory, in bytes.
      seconds: how long it took.
    """

    damage: str
    status: int
    problem: str
    contained: bool
    text: str
    peak: int
    seconds: float


def write_corpus(folder: pathlib.Path) -> None:
    """Writes the sound inputs of all kinds, each to <folder>/<kind>/<choice>; starts sessions."""
    checkpoints = folder / "checkpoints"
    train = ["modern.train", "--workload=regression", "--steps=2", f"--checkpoint_dir={checkpoints}"]
    subprocess.run([sys.executable, "-m", *train], check=True, capture_output=True)
    os.environ["FUZZ_CHECKPOINTS"] = str(checkpoints)
    for name, kind in KINDS.items():
        for choice in range(CHOICES):
            place = folder / name / str(choice)
            place.mkdir(parents=True)
            kind.write(place, choice)


def run_example(example: Example, corpus: pathlib.Path, place: pathlib.Path, whole: bool = False) -> Outcome:
    """Damages a copy of a sound input and runs its command.

    Args:
      example: the input and its damage.
      corpus: what `write_corpus` wrote.
      place: an empty folder.
      whole: whether the command is run in an interpreter of its own, and not in a fork of this one.

    Returns:
      how the command ended.
    """
    kind, folder = KINDS[example.kind], place / "input"
    shutil.copytree(corpus / example.kind / str(example.choice % CHOICES), folder)
    rng = random.Random(example.seed)
    files = sorted(path for path in folder.glob(kind.damaged) if path.is_file())
    damage = "none" if example.seed == SOUND else mutations.damage(rng.choice(files), rng)
    before = _digests(folder)
    arguments = [part.format(folder=folder, out=place / "out") for part in kind.command]
    (place / "work").mkdir()
    start, status, peak = time.monotonic(), *_run(arguments, place, whole)
    seconds = time.monotonic() - start
    text = (place / "stderr").read_text(errors="replace")
    contained = -status in (*CRASHES, signal.SIGKILL) and not kind.pure and not whole
    problem = "" if contained else _problem(status, text)
    if example.seed == SOUND and status not in (0, 1):
        problem = f"a sound input is refused: {text[-300:]}"
    if not problem and peak > MOST_BYTES:
        problem = f"memory: {peak >> 20} MiB"
    written = sorted(path.name for path in place.iterdir() if path.name not in ("input", "work", "stderr", "stdout"))
    if not problem and (os.listdir(place / "work") or (status == 2 and written)):
        problem = f"written: {written} {os.listdir(place / 'work')}"
    if not problem and "checkpoint_dir" not in " ".join(arguments) and _digests(folder) != before:
        problem = "input changed"
    return Outcome(damage, status, problem, contained, text, peak, seconds)


def _problem(status: int, text: str) -> str:
    """Returns what is wrong with an exit status and what was printed."""
    if "Traceback" in text:
        return "traceback: " + [line for line in text.strip().splitlines() if line.strip()][-1][:200]
    if status == -signal.SIGKILL:
        return "hang"
    if status not in STATUSES:
        return f"status {status}"
    lines = [line for line in without_progress(text).splitlines() if not _NATIVE.match(line)]
    if status == 2 and (len(lines) != 1 or not lines[0].startswith("error: ")):
        return f"{len(lines)} lines: {lines[:3]}"
    return ""


def _run(arguments: list[str], place: pathlib.Path, whole: bool) -> tuple[int, int]:
    """Runs `python -m` with some arguments; returns its exit status and most resident memory."""
    child = os.fork()
    if not child:
        _become(arguments, place, whole)
    deadline, peak = time.monotonic() + TIMEOUT, 0
    while True:
        done, status, usage = os.wait4(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), max(peak, 0 if whole else usage.ru_maxrss * 1024)
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
        peak = max(peak, _tree_bytes(child))
        if peak > 2 * MOST_BYTES:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.01)


def _become(arguments: list[str], place: pathlib.Path, whole: bool) -> NoReturn:
    """In the forked child: runs the command in this process, or replaces the process by it."""
    status = 1
    try:
        os.setpgid(0, 0)
        os.environ["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
        for number, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(os.open(place / name, os.O_WRONLY | os.O_CREAT), number)
        os.chdir(place / "work")
        if whole:
            os.execv(sys.executable, [sys.executable, "-m", *arguments])
        sys.argv = ["-m", *arguments[1:]]
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _tree_bytes(process: int) -> int:
    """Returns the resident memory of a process and its children."""
    total = 0
    try:
        children = pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()
        for number in [str(process), *children]:
            total = max(total, int(pathlib.Path(f"/proc/{number}/statm").read_text().split()[1]) * 4096)
    except (OSError, IndexError):
        pass
    return total


def _digests(folder: pathlib.Path) -> dict[str, str]:
    """Returns {file: digest} of a folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }
