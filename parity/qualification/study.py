"""`python -m parity.study --name=NAME`: answers a question that the write-ups leave open, with measurements made here.

Prints tables and a paragraph of answer with 95 % intervals, and says what it cannot show. A study takes at most ten
minutes of two idle cores; `--quick` takes less than a minute, and answers nothing. The questions stand below, at
--name.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from absl import flags

from parity.experiments.studies.catalogue import STUDIES
from parity.processes.pool import process_pool
from workloads.progress.progress import Progress
from workloads.support.command_line import command
from workloads.support.errors import require
from workloads.support.files import json_file
from workloads.support.machine import environment
from workloads.support.wording import counted

if TYPE_CHECKING:
    from parity.experiments.images import LabelledImages
    from parity.experiments.sync_or_async.runs import RunLosses

SYNC_OR_ASYNC = "sync_or_async"
QUESTIONS = {
    **{study.name: study.question for study in STUDIES.values()},
    SYNC_OR_ASYNC: "Do N replicas that each push their step overshoot, or is the noise harmless or even useful?",
}
WORKLOADS = ("cifar_cnn", "regression")

#: Ends the help of a flag that serves one study only.
_SERVES = f" Serves --name={SYNC_OR_ASYNC}."

flags.DEFINE_enum(
    "name", SYNC_OR_ASYNC, list(QUESTIONS), " ".join(f"{name}: {question}" for name, question in QUESTIONS.items())
)
flags.DEFINE_boolean("quick", False, "Sizes and numbers for trying the command. Serves every --name.")
command.define_json()
flags.DEFINE_string("markdown", None, "File to write tables and answer to, as Markdown. Serves every --name.")
flags.DEFINE_list("workloads", list(WORKLOADS), "Names of the workloads: " + ", ".join(WORKLOADS) + "." + _SERVES)
flags.DEFINE_integer("replicas", 4, "Number of replicas of every run." + _SERVES)
flags.DEFINE_integer("steps", 500, "Number of steps of every run, of one global batch each." + _SERVES)
flags.DEFINE_integer("seeds", 6, "Number of runs of each setting, with seeds from 0 on." + _SERVES)
flags.DEFINE_string(
    "data_dir",
    None,
    "Folder with CIFAR-10 or MNIST files for cifar_cnn. Default: scikit-learn's scanned digits." + _SERVES,
)
flags.DEFINE_integer("processes", 2, "Number of processes that share the work." + _SERVES)

FLAGS = flags.FLAGS

#: Flags of `SYNC_OR_ASYNC`, with the values that `--quick` gives those that are not given.
SYNC_FLAGS = {"workloads": ["regression"], "replicas": 2, "steps": 10, "seeds": 2, "data_dir": None, "processes": 2}

#: Settings that one process runs.
TASKS_PER_PROCESS = 24


def check_flags() -> None:
    """Raises `InputError` for flags that cannot be used."""
    from parity.experiments import intervals

    if FLAGS.markdown:
        json_file.require_writable(FLAGS.markdown, "--markdown")
    if FLAGS.name != SYNC_OR_ASYNC:
        for flag in SYNC_FLAGS:
            require(not FLAGS[flag].present, f"--{flag}", FLAGS[flag].value, f"serves --name={SYNC_OR_ASYNC}")
        return
    command.require_each(FLAGS.workloads, WORKLOADS, "--workloads")
    require(2 <= FLAGS.seeds <= intervals.MOST, "--seeds", FLAGS.seeds, f"from 2 to {intervals.MOST}")
    require(FLAGS.replicas >= 1, "--replicas", FLAGS.replicas, "must be at least 1")
    require(FLAGS.steps >= 10, "--steps", FLAGS.steps, "must be at least 10")
    require(FLAGS.processes >= 1, "--processes", FLAGS.processes, "must be at least 1")


def make_quick() -> None:
    """Gives the flags of `SYNC_OR_ASYNC` that were not given values for trying it, with `--quick`."""
    for flag, value in SYNC_FLAGS.items() if FLAGS.quick else ():
        if not FLAGS[flag].present:
            FLAGS[flag].value = value


def images_from_flags() -> LabelledImages | None:
    """Returns the images of `--data_dir`, or scanned digits; None if no workload takes images."""
    from parity.experiments.images import LabelledImages, scanned_digits
    from workloads.data import folder
    from workloads.selection import registry

    if "cifar_cnn" not in FLAGS.workloads:
        return None
    if not FLAGS.data_dir:
        return scanned_digits()
    _, images, labels, description = folder.open_folder(FLAGS.data_dir, registry.get("cifar_cnn", "small"))
    return LabelledImages(images, labels, description)


def run_study(images: LabelledImages | None) -> list[RunLosses]:
    """Runs all cases in several processes, and shows the progress on stderr."""
    from parity.experiments.sync_or_async import runs

    settings = runs.plan_cases(FLAGS.workloads, FLAGS.replicas, FLAGS.steps, FLAGS.seeds)
    outcomes: list[RunLosses] = []
    progress = Progress("study", "run")
    run_setting = functools.partial(runs.run_cases, images=images)
    with process_pool(FLAGS.processes, TASKS_PER_PROCESS) as pool:
        for of_setting in pool.imap_unordered(run_setting, settings):
            outcomes += of_setting
            progress.update(len(outcomes), len(settings) * FLAGS.seeds, of_setting[0].case.workload)
    progress.done()
    return outcomes


def write_markdown(text: str) -> None:
    """Writes the page to the file that `--markdown` names, if it names one.

    Raises:
      InputError: the file cannot be written.
    """
    if FLAGS.markdown and not json_file.is_stdout(FLAGS.markdown):  # where the page is printed anyway
        json_file.write_text(FLAGS.markdown, text, "--markdown")


def closing_lines(seconds: float) -> Iterator[str]:
    """Yields the last lines of a page: its command, the machine, and how long it took."""
    about = environment.describe()
    yield f"`python -m parity.study --name={FLAGS.name}{' --quick' if FLAGS.quick else ''}`, {seconds:.0f} s, on"
    yield f"{about['machine']}, {about['GPUs']} GPUs, TensorFlow {about['tensorflow']}."
    if FLAGS.quick:
        yield ""
        yield "**This is no answer: `--quick` measures too little.**"


def write_result(lines: Sequence[str], content: dict[str, Any]) -> None:
    """Prints the page, and writes it and the JSON to the files that the flags name."""
    text = "\n".join(lines) + "\n"
    print(text, end="")
    write_markdown(text)
    command.write_json({**content, "environment": environment.describe()})


def measure_study() -> None:
    """Runs a study that measures programs, each in a process of its own."""
    environment.prepare(exact=False)
    from parity.experiments.studies.report import report_lines

    start = time.monotonic()
    progress = Progress("study " + FLAGS.name, unit=None)
    study = STUDIES[FLAGS.name]
    report = study.run(FLAGS.quick, lambda text, done, total: progress.update(done, total, text))
    progress.done()
    closing = list(closing_lines(time.monotonic() - start))
    write_result(list(report_lines(study.question, report, closing)), report.to_json())


def compare_sync_and_async() -> None:
    """Runs the study of synchronous and asynchronous training."""
    environment.prepare(exact=True)
    from parity.experiments.sync_or_async.loss_table import loss_tables
    from parity.experiments.sync_or_async.page import page_lines

    start = time.monotonic()
    images = images_from_flags()
    outcomes = run_study(images)
    about = (
        f"{counted(len(outcomes), 'run')}: {counted(FLAGS.replicas, 'replica')}, {counted(FLAGS.steps, 'step')}, "
        f"seeds 0 to {FLAGS.seeds - 1}"
        f"{'' if images is None else '; images: ' + images.description}."
    )
    lines = list(page_lines(loss_tables(outcomes), FLAGS.replicas, about, time.monotonic() - start))
    write_result(lines, {"runs": [outcome.to_json() for outcome in outcomes]})


def main() -> int:
    """Runs the command; returns its exit status."""
    make_quick()
    check_flags()
    if FLAGS.name == SYNC_OR_ASYNC:
        compare_sync_and_async()
    else:
        measure_study()
    return 0


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
