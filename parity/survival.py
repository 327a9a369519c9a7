"""`python -m parity.survival --workload=resnet18 --kills=20`: is a run that was killed the same as one that was not?

Trains once without a break, then again in a run that is killed (SIGKILL) at random steps, each time started again from
its checkpoints; with --workers=2, one of the two is killed and the other must end by itself. The final checkpoints are
compared bit by bit. Exit status 0: identical; 1: not, or something hung.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time

from absl import flags

from modern import flags as modern_flags
from parity import flags as parity_flags
from parity import old_python
from parity.progress import Progress
from workloads import addresses, environment, json_file
from workloads import flags as job_flags
from workloads.errors import Lost, require, run_main

flags.DEFINE_integer("steps", 400, "Steps of the run.")
flags.DEFINE_integer("kills", 20, "How often it is killed, at random steps.")
flags.DEFINE_integer("checkpoint_every", 10, "Steps from one checkpoint to the next.")
flags.DEFINE_integer("kill_seed", 0, "Of the steps, and of who is killed.")

FLAGS = flags.FLAGS

#: Seconds after which a worker whose peer was killed must have ended, and seconds in which a run must say something.
BOUND, SILENCE = 60.0, 300.0


class Run:
    """`modern.train` as one process a worker, writing its checkpoints to `folder`."""

    def __init__(self, folder, arguments, workers):
        command = [sys.executable, "-m", "modern.train", "--checkpoint_dir=" + folder, "--json_lines", *arguments]
        places = addresses.free(workers)
        self._processes = []
        for index in range(workers):
            settings = dict(os.environ, PYTHONPATH=old_python.import_path(), TF_CPP_MIN_LOG_LEVEL="3")
            if workers > 1:
                from modern import cluster

                settings["TF_CONFIG"] = cluster.config(places, index)
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
                raise Lost("a worker still ran {:.0f} s after its peer was killed".format(BOUND))
            if other is not self._processes[index] and (other.returncode != 1 or "was lost" not in told):
                raise Lost("a worker whose peer was killed ended with {}: {}".format(other.returncode, told[-200:]))
        return time.monotonic() - start

    def end(self):
        """Waits for a run that is complete.

        Raises:
          Lost: a worker failed.
        """
        for process in self._processes:
            told = process.communicate(timeout=SILENCE)[1]
            if process.returncode:
                raise Lost("a run ended with {}: {}".format(process.returncode, told.strip()[-300:]))

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
    from workloads.lifted import checkpoint

    newest = max(name for name in os.listdir(folder) if name.startswith("step-"))
    return newest, checkpoint.read(os.path.join(folder, newest, "state"))


def differing(left, right):
    """Names of the tensors of two final states whose bits differ, or that only one has."""
    import numpy as np

    def bits(values, name):
        return np.asarray(values[name]).tobytes() if name in values else None

    return [name for name in sorted(set(left) | set(right)) if bits(left, name) != bits(right, name)]


def main(argv):
    require(len(argv) == 1, "argument", argv[1:], "flags only; see --help")
    require(FLAGS.kills >= 1, "--kills", FLAGS.kills, "must be at least 1")
    require(FLAGS.steps > FLAGS.kills, "--steps", FLAGS.steps, "must be more than --kills={}".format(FLAGS.kills))
    parity_flags.check_json()
    arguments = old_python.same_flags(FLAGS, [job_flags.__name__, modern_flags.__name__])
    arguments += ["--steps={}".format(FLAGS.steps), "--checkpoint_every={}".format(FLAGS.checkpoint_every)]
    arguments += ["--log_every=1", "--steps_per_call=10"]
    if FLAGS.workers > 1:
        arguments.append("--strategy=multi_worker")
    rng = random.Random(FLAGS.kill_seed)
    moments = sorted(rng.sample(range(1, FLAGS.steps), FLAGS.kills))
    with tempfile.TemporaryDirectory() as folder:
        whole, broken, shown = os.path.join(folder, "whole"), os.path.join(folder, "broken"), Progress("survival")
        complete(whole, arguments, FLAGS.workers, lambda step: shown.update(step, FLAGS.steps, "without a break"))
        kills = killed(
            broken, arguments, FLAGS.workers, moments, rng, lambda step: shown.update(step, FLAGS.steps, "killed")
        )
        shown.done()
        environment.prepare(exact=False)
        (name, left), (other, right) = final_state(whole), final_state(broken)
    differ = differing(left, right) + ([] if name == other else ["the step: {} and {}".format(name, other)])
    passed = not differ and len(kills) == FLAGS.kills
    slowest = max((seconds for _, _, seconds in kills), default=0.0)
    print(
        "{}: {} steps, killed {} times at steps {}; {} tensors of {}: {}; all had ended {:.1f} s after a kill".format(
            FLAGS.workload,
            FLAGS.steps,
            len(kills),
            ", ".join(str(step) for step, _, _ in kills),
            len(left),
            name,
            "identical bits" if not differ else "DIFFERENT: " + ", ".join(differ[:5]),
            slowest,
        )
    )
    if FLAGS.json:
        result = {"passed": passed, "differing": differ, "tensors": len(left)}
        result["kills"] = [dict(zip(("step", "worker", "seconds"), kill)) for kill in kills]
        json_file.write_json(FLAGS.json, result)
    sys.exit(0 if passed else 1)


def console():
    """Entry point."""
    run_main(main)


if __name__ == "__main__":
    console()
