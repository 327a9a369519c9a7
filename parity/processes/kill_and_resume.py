"""A training run that is killed at random steps and started again from its checkpoints until it is complete."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from parity.processes import child_command, process_tree
from workloads.program import Arrays
from workloads.support.errors import Lost
from workloads.support.processes import addresses

#: Seconds after which a worker whose peer was killed must have ended, and seconds in which a run must say something.
BOUND, SILENCE = 60.0, 300.0


class Kill(NamedTuple):
    """A kill of one worker.

    Attributes:
      step: the step that the chief had reported.
      worker: number of the worker that was killed.
      seconds: time until all workers had ended.
    """

    step: int
    worker: int
    seconds: float


class FinalState(NamedTuple):
    """The newest checkpoint of a run: its name, and {tensor name: array}."""

    checkpoint: str
    tensors: Arrays


class TrainingRun:
    """`modern.train` with one process per worker.

    Args:
      folder: where the checkpoints are.
      arguments: command-line flags.
      workers: number of processes.
    """

    def __init__(self, folder: str, arguments: Sequence[str], workers: int) -> None:
        command = child_command.module_command(sys.executable, "modern.train")
        command += ["--checkpoint_dir=" + folder, "--json_lines", *arguments]
        places = addresses.free_addresses(workers)
        self._processes: list[subprocess.Popen[str]] = []
        for index in range(workers):
            settings = dict(child_command.child_environment(), TF_CPP_MIN_LOG_LEVEL="3")
            if workers > 1:
                from modern.multi_worker import cluster_config

                settings["TF_CONFIG"] = cluster_config.tf_config_text(places, index)
            self._processes.append(
                subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=settings)
            )

    def steps(self) -> Iterator[int]:
        """Yields the steps that the chief reports, as they come."""
        for line in self._processes[0].stdout or ():
            message = json.loads(line)
            if "step" in message:
                yield message["step"]

    @property
    def alive(self) -> bool:
        """Whether the chief still runs."""
        return self._processes[0].poll() is None

    def drain(self) -> None:
        """Reads the chief's reports in a thread, so that the chief need not wait for a reader."""
        threading.Thread(target=lambda: list(self.steps()), daemon=True).start()

    def kill_all(self) -> float:
        """Kills every worker; returns the seconds until they and all that they started had ended.

        Raises:
          Lost: a process that one had started still runs after `BOUND` seconds.
        """
        start = time.monotonic()
        below = [process_tree.Descendants(process.pid) for process in self._processes]
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
        _require_ended(below)
        return time.monotonic() - start

    def kill(self, index: int) -> float:
        """Kills one worker and waits for the others, which must end and report the loss.

        Returns:
          seconds until all had ended.

        Raises:
          Lost: one did not end within `BOUND`, or ended as if nothing had happened; or a process that the killed one
            had started still runs.
        """
        below = process_tree.Descendants(self._processes[index].pid)
        self._processes[index].kill()
        start = time.monotonic()
        for other in self._processes:
            try:
                errors = other.communicate(timeout=BOUND)[1]
            except subprocess.TimeoutExpired:
                raise Lost(f"a worker still ran {BOUND:.0f} s after its peer was killed")
            if other is not self._processes[index] and (other.returncode != 1 or "was lost" not in errors):
                raise Lost(f"a worker whose peer was killed ended with {other.returncode}: {errors[-200:]}")
        _require_ended([below])
        return time.monotonic() - start

    def wait(self) -> None:
        """Waits for a run that ends by itself.

        Raises:
          Lost: a worker failed.
          UserError: the user's own code failed there.
        """
        for process in self._processes:
            errors = process.communicate(timeout=SILENCE)[1]
            child_command.raise_user_error(process.returncode, errors)
            if process.returncode:
                raise Lost(f"a run ended with {process.returncode}: {errors.strip()[-300:]}")

    def close(self) -> None:
        """Kills the workers that still run."""
        for process in self._processes:
            process.kill()
            process.communicate()


def _require_ended(trees: Sequence[process_tree.Descendants]) -> None:
    for tree in trees:
        running = tree.running_after(BOUND)
        if running:
            raise Lost(f"processes {running} still ran {BOUND:.0f} s after their parent was killed")


def train_to_end(folder: str, arguments: Sequence[str], workers: int, progress: Callable[[int], object]) -> None:
    """Trains until all steps are done, from the newest checkpoint in `folder` if there is one.

    Args:
      folder: where the checkpoints are.
      arguments: command-line flags of `modern.train`.
      workers: number of processes.
      progress: called with each step that is reported.

    Raises:
      Lost: a worker failed.
    """
    run = TrainingRun(folder, arguments, workers)
    try:
        for step in run.steps():
            progress(step)
        run.wait()
    finally:
        run.close()


def read_final_state(folder: str) -> FinalState:
    """Returns the newest checkpoint in `folder`, of any job."""
    from workloads.training import checkpoints

    newest = checkpoints.newest_checkpoint(folder)
    return FinalState(newest, checkpoints.read_checkpoint(folder, newest))


def differing_tensors(left: Arrays, right: Arrays) -> list[str]:
    """Returns the names of the tensors whose bits differ, or that only one side has, sorted."""
    import numpy as np

    def bits(tensors: Arrays, name: str) -> bytes | None:
        return np.asarray(tensors[name]).tobytes() if name in tensors else None

    return [name for name in sorted(set(left) | set(right)) if bits(left, name) != bits(right, name)]
