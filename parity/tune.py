"""`python -m parity.tune --workload=resnet18`: finds settings that make the port faster, with the same mathematics.

Tries, one after the other: the number of replicas (where the mathematics does not depend on it), steps per call,
threads, oneDNN, freed memory given back, the all-reduce, and XLA. Each value runs in a process of its own, is compared
with the towers first, and is timed in interleaved rounds beside the best settings so far; it is kept only if it is
faster beyond doubt. The gain of the result is measured anew. Exit status 0: searched; 1: the defaults themselves
have no parity; 2: input that cannot be used.
"""

from __future__ import annotations

import functools

from absl import flags

from parity import flags as parity_flags
from workloads.selection import flags as job_flags  # noqa: F401
from workloads.support.command_line import command
from workloads.support.errors import require
from workloads.support.machine import environment, threads

flags.DEFINE_integer("rounds", 10, "Timed rounds of each knob; an even number.", lower_bound=2)
flags.DEFINE_integer("last_rounds", 20, "Timed rounds of the result beside the defaults; even.", lower_bound=2)
flags.DEFINE_float("block_seconds", 0.25, "Approximate length of a timed block, in seconds.", lower_bound=0.01)
flags.DEFINE_integer("parity_steps", 3, "Steps of each setting that are compared.", lower_bound=1)
flags.DEFINE_integer("warmup", 10, "Steps of each setting before the clock starts.", lower_bound=1)
flags.DEFINE_boolean("stream", False, "New batches at every step. Default: the first batch, resident on the devices.")
flags.DEFINE_list("knobs", [], "Names of the knobs to try, such as threads,XLA. Default: all.")

FLAGS = flags.FLAGS


def check_flags() -> None:
    """Raises `InputError` for flags that can be refused before TensorFlow is started."""
    for flag in ("rounds", "last_rounds"):
        require(FLAGS[flag].value % 2 == 0, f"--{flag}", FLAGS[flag].value, "must be even")
    parity_flags.check_mirrored_towers(FLAGS)


def main() -> int:
    """Runs the command; returns its exit status."""
    check_flags()
    environment.prepare(exact=False)
    from parity.reports.formatting import make_console
    from parity.tuning.search import SearchPlan, search_settings
    from parity.tuning.settings import is_same_at_any_replicas, knobs_of
    from parity.tuning.tuned_process import TunedProcess
    from parity.tuning.tuning_table import tuning_lines, tuning_table
    from workloads.progress.progress import Progress

    setup = parity_flags.timed_setup(FLAGS.stream)
    knobs = list(knobs_of(setup, threads.cores(), is_same_at_any_replicas(setup.job)))
    names = [knob.name for knob in knobs]
    command.require_each(FLAGS.knobs, names, "--knobs")
    knobs = [knob for knob in knobs if not FLAGS.knobs or knob.name in FLAGS.knobs]
    start = functools.partial(TunedProcess, setup, steps=FLAGS.parity_steps, warm_up=FLAGS.warmup)
    progress = Progress("tune " + setup.job.workload.name, "setting")
    plan = SearchPlan(FLAGS.rounds, FLAGS.last_rounds, FLAGS.block_seconds)
    result = search_settings(knobs, start, plan, lambda text, done, total: progress.update(done, total, text))
    progress.done()
    console = make_console()
    console.print(tuning_table(result, f"{setup.job.workload.name}: settings of the port"))
    for line in tuning_lines(result):
        console.print(line, highlight=False)
    command.write_json({"workload": setup.job.workload.name, "job": setup.job.describe(), **result.to_json()})
    return 0


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
