"""`python -m legacy.lift model.ckpt-1000.meta --checkpoint=model.ckpt-1000 --out=lifted`: an old program as a workload.

Takes the training step out of a saved graph (.meta, graph.pbtxt, .pb or an events file) and writes a folder that goes
wherever a workload goes: `parity.verify --workload=lifted`, `modern.train --workload=lifted`. The old source is not
needed, and nothing of it is run here but its initializers, where no checkpoint is given.
"""

from __future__ import annotations

import sys

from absl import flags

from workloads.support import command, environment
from workloads.support.errors import require

flags.DEFINE_string("checkpoint", None, "The values to start from, e.g. model.ckpt-1000. Default: initial values.")
flags.DEFINE_string("out", None, "The folder to write.")
flags.DEFINE_list("train_op", [], "What the program ran to train; several, by commas, if it ran them in turn.")
flags.DEFINE_list("feed", [], "Settings that stay as they are, as placeholder=value, by commas.")
flags.DEFINE_list(
    "carry", [], "State that the program fetched and fed into the next step, as placeholder=tensor, by commas."
)
flags.DEFINE_list("allow_ops", [], "Op types that run Python, touch files or reach the network, and may be run.")
flags.DEFINE_string("name", None, "What reports call the program. Default: the graph file's name.")

FLAGS = flags.FLAGS


def main(graph):
    require(FLAGS.out, "--out", FLAGS.out, "name the folder to write")
    environment.prepare(exact=False)
    from legacy.saved.lifting import lift

    feed = command.assignments(FLAGS.feed, "--feed", "placeholder=value")
    carry = command.assignments(FLAGS.carry, "--carry", "placeholder=tensor")
    plan = lift(graph, FLAGS.out, FLAGS.checkpoint, FLAGS.train_op, feed, FLAGS.allow_ops, FLAGS.name, carry, _tell)
    print(f"{FLAGS.out}: {plan.name}, {plan.towers} towers, told apart by {plan.found_by}")


def _tell(text):
    """Says what is being done, to people who wait."""
    if sys.stderr.isatty():
        sys.stderr.write(text + "\n")


console = command.entry(main, __doc__, "GRAPH")

if __name__ == "__main__":
    console()
