"""`python -m legacy.lift GRAPH --checkpoint=model.ckpt-1000 --out=lifted`: turn a saved graph into a workload.

Takes the training step out of GRAPH (a .meta file, graph.pbtxt, a GraphDef (.pb), a saved_model.pb or an events file)
and writes a folder that every command takes as a workload: `parity.verify --workload=lifted`, `modern.train
--workload=lifted`. The original script is not needed. A step is run once or more, on made-up data, to find the sizes of
its inputs.

--source=port.py writes the same training step as a readable TensorFlow 2 program, beside the folder or instead of it;
to prove it, loss and gradients of each tower are run once, on made-up numbers or on the program's own data.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from absl import flags

from legacy import saved_graph_flags
from workloads.lifted.plan.settings import is_number
from workloads.support.command_line import command
from workloads.support.errors import require
from workloads.support.files import input_files
from workloads.support.machine import environment
from workloads.support.processes import isolation
from workloads.support.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from legacy.saved.analysis.analyse import Analysis
    from legacy.saved.lifting import LiftOptions
    from workloads.program import Arrays

flags.DEFINE_string(
    "checkpoint", None, "Checkpoint with the values to start from, e.g. model.ckpt-1000. Default: initial values."
)
flags.DEFINE_string("out", None, "Folder to write.")
saved_graph_flags.define_graph_flags(flags.FLAGS)
flags.DEFINE_list(
    "carry",
    None,
    "State that the program fetched and fed into the next step, as fed=tensor,fed=tensor; empty for none. Default: as "
    "in the recording beside GRAPH.",
)
flags.DEFINE_list(
    "allow_ops", [], "Op types that run Python, touch files or reach the network, and may be run nevertheless."
)
flags.DEFINE_string("source", None, "Python file to write: the training step, decompiled to a TensorFlow 2 program.")
flags.DEFINE_enum(
    "style",
    "workload",
    ["workload", "standalone"],
    "Form of --source: a Workload for this project's commands, or one file that needs TensorFlow and numpy only.",
)
flags.DEFINE_list(
    "settings", [], "Values of scalar inputs that the program fed at every step, as input=value,input=value."
)
flags.DEFINE_string(
    "data",
    None,
    "The program's own data, to prove --source with and to take sizes from: an .npz file with an array for each input, "
    "module:function, or the folder of a recording. Default: the recording beside GRAPH, or else made-up numbers.",
)
flags.DEFINE_string("name", None, "Name of the workload in reports. Default: the graph file's name.")

FLAGS = flags.FLAGS


def main(graph: str) -> int:
    """Lifts the file `graph`."""
    require(FLAGS.out or FLAGS.source, "--out", FLAGS.out, "name the folder to write, or a file by --source")
    if FLAGS.source:
        require(FLAGS.source.endswith(".py"), "--source", FLAGS.source, "must be the path of a .py file")
    settings = command.assignments(FLAGS.settings, "--settings", "input=value")
    for name, text in settings.items():
        require(is_number(text), "--settings", f"{name}={text}", "must be a number")
    feed = saved_graph_flags.feed_from_flags(FLAGS)
    carry = None if FLAGS.carry is None else command.assignments(FLAGS.carry, "--carry", "fed=tensor")
    values = input_files.checkpoint_size(FLAGS.checkpoint) if FLAGS.checkpoint else 0
    crash = "made-up data that do not fit each other can do that: give the program's own by --data; or is it damaged?"
    limits = isolation.limits_of_runs(
        saved_graph_flags.graph_size(graph),
        values,
        "--data gives the sizes of smaller batches",
        isolation.Limits().crash if FLAGS.data else crash,
    )
    return command.isolated(lambda: _lift(graph, feed, carry, settings), f"graph file: {graph!r}", limits)


def _lift(graph: str, feed: dict[str, str], carry: dict[str, str] | None, settings: dict[str, str]) -> int:
    """Writes lift and source; runs in a child process, since a damaged graph or checkpoint can crash TensorFlow."""
    # A source is compared with the old towers bit by bit; and where made-up data have a wrong rank, oneDNN aborts.
    environment.prepare(exact=True)
    from legacy.lift_examples import DataOfProgram
    from legacy.saved.analysis.initial_values import texts_of_values
    from legacy.saved.facts.basics.unsafe_ops import python_note
    from legacy.saved.lifting import lift_graph
    from legacy.saved.runs.recorded_feeds import feeds_text
    from legacy.source.source import SourceOptions, source_of_analysis, write_source
    from workloads.lifted.replication import divided_loops, own_number_only
    from workloads.progress.progress import Progress

    written: list[str] = []
    data = DataOfProgram(graph, FLAGS.data, settings)
    progress = Progress("lift " + os.path.basename(graph))

    def write(found: Analysis, values: Arrays) -> None:
        told = [feeds_text(found.fed), *texts_of_values(found.start), python_note(found.plan)]
        written.extend(filter(None, told))
        if FLAGS.source:
            progress.stage("writing " + FLAGS.source)
            folder = os.path.relpath(FLAGS.out, os.path.dirname(FLAGS.source) or ".") if FLAGS.out else ""
            examples = data.examples(found.plan)
            options = SourceOptions({**data.settings, **settings}, FLAGS.style, folder, examples)
            made = source_of_analysis(found, values, options)
            write_source(FLAGS.source, made)
            written.append(f"{FLAGS.source}: {counted(len(made.text.splitlines()), 'line')}")
            written.extend(f"{FLAGS.source}: {note}" for note in made.notes)

    options = _lift_options(feed, carry, settings, data.enter)
    plan = lift_graph(graph, FLAGS.out, FLAGS.checkpoint, options, progress.stage, write)
    reason = own_number_only(plan)
    replicas = f"; runs on {counted(plan.towers, 'replica')} only: {reason}" if reason else ""
    apart = divided_loops(plan)
    replicas = f"; the reference of a source alone: {apart}" if apart else replicas
    if FLAGS.out:
        print(f"{FLAGS.out}: {plan.name}, {counted(plan.towers, 'tower')}, recognised by {plan.found_by}{replicas}")
    for line in [*data.notes(plan), *written]:
        print(line)
    return 0


def _lift_options(
    feed: dict[str, str],
    carry: dict[str, str] | None,
    settings: dict[str, str],
    own_data: Callable[[Analysis], Sequence[Arrays]],
) -> LiftOptions:
    from legacy.saved.lifting import LiftOptions

    return LiftOptions(
        FLAGS.train_op,
        FLAGS["with"].value,
        feed,
        carry,
        FLAGS.allow_ops,
        FLAGS.layout,
        FLAGS.name,
        settings,
        own_data,
    )


console = command.entry(main, __doc__, "GRAPH")

if __name__ == "__main__":
    console()
