"""`python -m parity.study --name=sync_or_async`: answers a question that the write-ups leave open, with numbers.

sync_or_async: final losses of synchronous and asynchronous training on equal examples, at several learning rates and
stalenesses, over several seeds, with 95 % intervals; where it diverges; and which of the two guesses holds when.
"""

from __future__ import annotations

import dataclasses
import functools
import time

from absl import flags

from parity.processes import pool as workers
from parity.reports.progress import Progress
from workloads.support import command, environment, json_file
from workloads.support.errors import InputError, require

NAMES = ("sync_or_async",)
WORKLOADS = ("cifar_cnn", "regression")

flags.DEFINE_enum("name", "sync_or_async", NAMES, "The study to run.")
flags.DEFINE_list("workloads", list(WORKLOADS), "On which workloads: " + ", ".join(WORKLOADS) + ".")
flags.DEFINE_integer("replicas", 4, "Replicas of every run.")
flags.DEFINE_integer("steps", 500, "Steps of every run, of one global batch each.")
flags.DEFINE_integer("seeds", 6, "Runs of each setting, from 0 on.")
flags.DEFINE_string("data_dir", None, "CIFAR-10 or MNIST for cifar_cnn; default: scikit-learn's scanned digits.")
flags.DEFINE_integer("processes", 2, "Processes that share the work.")
command.define_json()
flags.DEFINE_string("markdown", None, "Write tables and answers here.")

FLAGS = flags.FLAGS


def check_flags():
    """Raises `InputError` for what cannot be used."""
    from parity.experiments import intervals

    command.require_each(FLAGS.workloads, WORKLOADS, "--workloads")
    require(2 <= FLAGS.seeds <= intervals.MOST, "--seeds", FLAGS.seeds, f"from 2 to {intervals.MOST}")
    require(FLAGS.replicas >= 1, "--replicas", FLAGS.replicas, "must be at least 1")
    require(FLAGS.steps >= 10, "--steps", FLAGS.steps, "must be at least 10")
    require(FLAGS.processes >= 1, "--processes", FLAGS.processes, "must be at least 1")
    if FLAGS.markdown:
        json_file.require_writable(FLAGS.markdown, "--markdown")


def images():
    """(uint8 images, labels, what they are)."""
    from parity.experiments import images as images_lib
    from workloads.data import folder
    from workloads.selection import registry

    if FLAGS.data_dir:
        return folder.open_folder(FLAGS.data_dir, registry.get("cifar_cnn", "small"))[1:]
    return images_lib.digits() + ("scikit-learn's 1,797 scanned digits",)


def lines(tables, replicas, about, seconds):
    """The study as Markdown lines."""
    from parity.experiments import sync_or_async as study

    yield "# Synchronous or asynchronous?"
    yield ""
    yield from (study.__doc__ or "").strip().splitlines()
    yield ""
    yield about
    yield "Loss: mean of the last tenth of the steps, ± half a 95 % interval over the seeds. Diverged: no number, or no"
    yield "better than at the first step. Comparisons are seed by seed, each at 95 % by itself: of twenty settings that"
    yield "do not differ, one would be called different. Where none is seen, the seeds may be too few to see it."
    for name, rates in tables.items():
        heads = ["rate"] + ["synchronous" if k is None else f"staleness {k}" for k in study.STALENESS]
        yield ""
        yield f"## {name}"
        yield ""
        yield "| " + " | ".join(heads) + " |"
        yield "|" + "---|" * len(heads)
        for rate, row in rates.items():
            yield "| " + " | ".join([f"{rate:g}"] + [_text(row[k]) for k in study.STALENESS]) + " |"
        yield ""
        yield study.answer(name, rates, replicas)
    yield ""
    yield f"{seconds:.0f} s."


def _text(cell):
    if cell.diverged:
        return f"diverged {cell.diverged}/{cell.runs}"
    return f"{cell.mean:.4g} ± {cell.half:.2g}"


def main():
    check_flags()
    environment.prepare(exact=True)
    from parity.experiments import sync_or_async as study

    start = time.monotonic()
    pictures = images() if "cifar_cnn" in FLAGS.workloads else (None, None, "")
    settings = study.plan(FLAGS.workloads, FLAGS.replicas, FLAGS.steps, FLAGS.seeds)
    outcomes, shown = [], Progress("study")
    with workers.process_pool(FLAGS.processes, tasks_per_process=24) as pool:
        for made in pool.imap_unordered(functools.partial(study.run, images=pictures[:2]), settings):
            outcomes += made
            shown.update(len(outcomes), len(settings) * FLAGS.seeds, made[0].case.workload)
    shown.done()
    tables = study.table(outcomes)
    about = "{} runs: {} replicas, {} steps, seeds 0 to {}{}.".format(
        len(outcomes),
        FLAGS.replicas,
        FLAGS.steps,
        FLAGS.seeds - 1,
        "; images: " + pictures[2] if pictures[2] else "",
    )
    text = "\n".join(lines(tables, FLAGS.replicas, about, time.monotonic() - start)) + "\n"
    print(text, end="")
    if FLAGS.markdown:
        try:
            with open(FLAGS.markdown, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise InputError(f"--markdown: cannot write {FLAGS.markdown}: {error.strerror}")
    runs = [dict(dataclasses.asdict(o.case), first=o.first, final=o.final, diverged=o.diverged) for o in outcomes]
    command.write_json({"runs": runs, "environment": environment.describe()})
    return 0


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
