"""`python -m parity.clean_runs`: many runs without a fault, in which nothing may be flagged.

Workloads x replicas x dtypes x reductions x batches, each with its own seed, in both modes. A run is flagged if it
does not verify, or if any rule names a cause. Exit status 0: nothing was flagged; 1: something was; 2: input that
cannot be used. `--json` holds every run with its seed, so that each can be run again.
"""

from __future__ import annotations

import contextlib
import itertools
import os

from absl import flags

from modern.options import ALL_REDUCES
from parity import flags as parity_flags  # noqa: F401  --json
from parity.processes import pool as workers
from parity.reports.progress import Progress
from workloads.program import RecordRewriter
from workloads.selection import registry
from workloads.support import command

flags.DEFINE_integer("runs", 540, "How many runs.", lower_bound=1)
flags.DEFINE_integer("first_seed", 0, "Seed of the first run; each pair of modes has the next.")
flags.DEFINE_integer("run_steps", 4, "Steps of a run.", lower_bound=2)
flags.DEFINE_integer("processes", 2, "Processes that share the work.", lower_bound=1)

FLAGS = flags.FLAGS

#: Built-in workloads that take seconds; the others take ten times as long.
_QUICK = ("sigmoid_stack", "regression", "cifar_cnn")

#: In turn; the slower workloads, and those added later, come less often.
WORKLOADS = _QUICK * 4 + ("stacked_lstm", "resnet18")
WORKLOADS += tuple(name for name in registry.NAMES if name not in WORKLOADS)

CASES = tuple(
    {"replicas": n, "dtype": d, "all_reduce": r, "batch": b}
    for n, d, r, b in itertools.product(
        (2, 3, 4), ("float32", "float64"), ("tower_order", "auto", "one_device"), (1, 2)
    )
)

MODES = ("free", "locked")


def planned(runs, first_seed):
    """[case with its workload, seed and tolerance], each for a run in both modes; few already differ in everything."""
    made = []
    stride = 5  # shares no factor with the cases' number
    for number in range(-(-runs // len(MODES))):
        case = {"workload": WORKLOADS[number % len(WORKLOADS)], "seed": first_seed + number}
        case.update(CASES[(number * stride) % len(CASES)])
        case["tolerance"] = "exact" if ALL_REDUCES[case["all_reduce"]].in_order else "auto"
        made.append(case)
    return made


class _Kept(RecordRewriter):
    """A program that keeps the records it shows and the states they started from."""

    def __init__(self, program):
        super().__init__(program)
        self.records, self.before = [], [program.state()]

    def load(self, state):
        super().load(state)
        self.before[-1] = state

    def rewrite(self, record):
        self.records.append(record)
        self.before.append(record.state)
        return record


def run(case, steps):
    """[the case in each mode with {"flagged": [texts]}]: why it does not verify, and which causes are named."""
    from legacy.options import LegacyOptions
    from modern.options import ModernOptions
    from parity.causes import catalogue
    from parity.comparison.setup import Setup
    from parity.comparison.verification import verify
    from parity.diagnosis import collect, job_context
    from parity.diagnosis.evidence import ComparedStep, Evidence
    from parity.reports.verification_text import verification_verdict
    from workloads import sources
    from workloads.job import Job

    workload = registry.get(case["workload"])
    size = -(-workload.global_batch * case["batch"] // (2 * case["replicas"])) * case["replicas"]
    job = Job(workload, case["replicas"], size, case["dtype"], case["seed"])
    modern = ModernOptions(all_reduce=case["all_reduce"], exact=True)
    setup = Setup(job, sources.Synthetic, LegacyOptions(exact=True), modern, "cpu")
    auto, flagged = case["tolerance"] == "auto", {}
    with contextlib.ExitStack() as stack:
        with setup.legacy_program() as program:
            left = _Kept(collect.replay_of_steps(program, len(MODES) * steps))
        right = _Kept(stack.enter_context(setup.modern_program()))
        witness = stack.enter_context(setup.modern_program()) if auto else None
        for mode in MODES:  # one after the other, the second from where the first has come to
            floor = stack.enter_context(setup.closing_noise_floor()) if auto else None
            judge = witness if mode == "free" else None
            if mode == "locked":
                right.load(left.state())
            result = verify(left, right, job, steps, mode, case["tolerance"], judge, floor)
            flagged[mode] = [] if result.passed else [verification_verdict(result)]
        rows = zip(left.records, right.records, left.before, right.before, itertools.count())
        taken = [ComparedStep(a, b, c, d, number >= steps) for a, b, c, d, number in rows]
        evidence = Evidence(job_context.context_of_job(job), left.before[0], right.before[0], taken)
        named = [f.id + ": " + f.finding.sentence for f in catalogue.recognize_causes(evidence) if f.cause.bug]
    return [dict(case, mode=mode, global_batch=size, flagged=flagged[mode] + named) for mode in MODES]


def _one(arguments):
    return run(*arguments)


def main():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    cases = planned(FLAGS.runs, FLAGS.first_seed)
    rows, progress = [], Progress("clean_runs")
    with workers.process_pool(FLAGS.processes, tasks_per_process=20) as pool:
        for made in pool.imap_unordered(_one, [(case, FLAGS.run_steps) for case in cases]):
            for row in made:
                rows.append(row)
                if row["flagged"]:
                    print(f"FLAGGED {row}", flush=True)
                progress.update(len(rows), len(cases) * len(MODES), "clean runs")
    progress.done()
    flagged = [row for row in rows if row["flagged"]]
    print(
        f"{len(rows)} clean runs, seeds {FLAGS.first_seed} to {FLAGS.first_seed + len(cases) - 1}: {len(flagged)} flagged"
    )
    command.write_json({"runs": sorted(rows, key=lambda row: row["seed"]), "flagged": len(flagged)})
    return 1 if flagged else 0


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
