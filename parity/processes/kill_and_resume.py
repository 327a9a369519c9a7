"""A training run that is killed at random steps, and started again from its checkpoints until it is complete."""

from __future__ import annotations

import json
import subprocess
import sys
import time

from parity.processes import interpreter
from workloads.support import addresses
from workloads.support.errors import Lost

#: Seconds after which a worker whose peer was killed must have ended, and seconds in which a run must say something.
BOUND, SILENCE = 60.0, 300.0


class Run:
    """`modern.train` as one process a worker, writing its checkpoints to `folder`."""

    def __init__(self, folder, arguments, workers):
        command = interpreter.module_command(sys.executable, "modern.train")
        command += ["--checkpoint_dir=" + folder, "--json_lines", *arguments]
        places = addresses.free_addresses(workers)
        self._processes = []
        for index in range(workers):
            settings = dict(interpreter.environment(), TF_CPP_MIN_LOG_LEVEL="3")
            if workers > 1:
                from modern.multi_worker import cluster_config

                settings["TF_CONFIG"] = cluster_config.tf_config_text(places, index)
            self._processes.append(
                subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=settings)
            )

    def steps(self):
        """The steps that the chief reports, as they come."""
        for line in self._processes[0].stdout:
            seen = json.loads(line)
            if "step" in seen:
                yield seen["step"]

    def kill(self, index):
        """Kills one worker; the seconds until the others had ended, which are to name what happened.

        Raises:
          Lost: one did not end within `BOUND`, or ended as if nothing had happened.
        """
        self._processes[index].kill()
        start = time.monotonic()
        for other in self._processes:
            try:
                told = other.communicate(timeout=BOUND)[1]
            except subprocess.TimeoutExpired:
                raise Lost(f"a worker still ran {BOUND:.0f} s after its peer was killed")
            if other is not self._processes[index] and (other.returncode != 1 or "was lost" not in told):
                raise Lost(f"a worker whose peer was killed ended with {other.returncode}: {told[-200:]}")
        return time.monotonic() - start

    def end(self):
        """Waits for a run that is complete.

        Raises:
          Lost: a worker failed.
        """
        for process in self._processes:
            told = process.communicate(timeout=SILENCE)[1]
            if process.returncode:
                raise Lost(f"a run ended with {process.returncode}: {told.strip()[-300:]}")

    def close(self):
        """Ends what still runs."""
        for process in self._processes:
            process.kill()
            process.communicate()


def complete(folder, arguments, workers, progress):
    """Runs from beginning to end."""
    run = Run(folder, arguments, workers)
    try:
        for step in run.steps():
            progress(step)
        run.end()
    finally:
        run.close()


def killed(folder, arguments, workers, moments, rng, progress):
    """Runs to the end, killed when it reaches each of `moments`; [(step, worker, seconds until all had ended)]."""
    kills = []
    for moment in moments:
        run = Run(folder, arguments, workers)
        try:
            reached = next((step for step in run.steps() if step >= moment), None)
            if reached is None:  # it was further than this moment when it was saved last, or ended
                run.end()
                continue
            time.sleep(rng.uniform(0.0, 0.1))  # somewhere in a step, or in the writing of a checkpoint
            worker = rng.randrange(workers)
            kills.append((reached, worker, run.kill(worker)))
            progress(reached)
        finally:
            run.close()
    complete(folder, arguments, workers, progress)
    return kills


def final_state(folder):
    """{name: array} of the newest checkpoint in `folder`, whatever job it is of."""
    from workloads.training import checkpoints

    newest = checkpoints.newest_checkpoint(folder)
    return newest, checkpoints.read_checkpoint(folder, newest)


def differing(left, right):
    """Names of the tensors of two final states whose bits differ, or that only one has."""
    import numpy as np

    def bits(values, name):
        return np.asarray(values[name]).tobytes() if name in values else None

    return [name for name in sorted(set(left) | set(right)) if bits(left, name) != bits(right, name)]
