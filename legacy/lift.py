"""`python -m legacy.lift GRAPH --checkpoint=model.ckpt-1000 --out=lifted`: turn a saved graph into a workload.

Takes the training step out of GRAPH (a .meta file, graph.pbtxt, a GraphDef (.pb) or an events file) and writes a
folder that every command takes as a workload: `parity.verify --workload=lifted`, `modern.train --workload=lifted`.
The original script is not needed, and none of the graph is run but its initializers, where no checkpoint is given.
"""

from __future__ import annotations

import sys

from absl import flags

from workloads.support import command, environment, input_files, isolation
from workloads.support.errors import require

flags.DEFINE_string(
    "checkpoint", None, "Checkpoint with the values to start from, e.g. model.ckpt-1000. Default: initial values."
)
flags.DEFINE_string("out", None, "Folder to write.")
flags.DEFINE_list(
    "train_op",
    [],
    "Name of the training op that the program ran; several, separated by commas, if it ran them in turn.",
)
flags.DEFINE_list("feed", [], "Constant values of placeholders, as placeholder=value,placeholder=value.")
flags.DEFINE_list(
    "carry", [], "State that the program fetched and fed into the next step, as placeholder=tensor,placeholder=tensor."
)
flags.DEFINE_list(
    "allow_ops", [], "Op types that run Python, touch files or reach the network, and may be run nevertheless."
)
flags.DEFINE_string("name", None, "Name of the workload in reports. Default: the graph file's name.")

FLAGS = flags.FLAGS


def main(graph: str) -> int:
    """Lifts the file `graph`."""
    require(FLAGS.out, "--out", FLAGS.out, "name the folder to write")
    feed = command.assignments(FLAGS.feed, "--feed", "placeholder=value")
    carry = command.assignments(FLAGS.carry, "--carry", "placeholder=tensor")
    values = input_files.checkpoint_size(FLAGS.checkpoint) if FLAGS.checkpoint else 0
    limits = isolation.limits_of_files(input_files.require_regular(graph, "graph file"), values)
    return command.isolated(lambda: _lift(graph, feed, carry), f"graph file: {graph!r}", limits)


def _lift(graph: str, feed: dict[str, str], carry: dict[str, str]) -> int:
    """Writes the lift; runs in a child process, since a damaged graph or checkpoint can crash TensorFlow."""
    environment.prepare(exact=False)
    from legacy.saved.lifting import lift_graph

    plan = lift_graph(
        graph, FLAGS.out, FLAGS.checkpoint, FLAGS.train_op, feed, FLAGS.allow_ops, FLAGS.name, carry, _tell
    )
    print(f"{FLAGS.out}: {plan.name}, {plan.towers} towers, told apart by {plan.found_by}")
    return 0


def _tell(text: str) -> None:
    """Prints what is being done, on a terminal only."""
    if sys.stderr.isatty():
        sys.stderr.write(text + "\n")


console = command.entry(main, __doc__, "GRAPH")

if __name__ == "__main__":
    console()
