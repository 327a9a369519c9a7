"""`python -m legacy.inspect model.ckpt-1000.meta`: what is this old program? Reads its graph and runs nothing.

Also reads graph.pbtxt, a GraphDef (.pb) and events files. Shows towers and how they were told apart, inputs, losses,
how gradients are combined, optimizers and schedules, variables, statistics, devices, and what a port must watch for.
"""

from __future__ import annotations

from absl import flags

from workloads.support import command, environment

flags.DEFINE_list("train_op", [], "What the program ran to train; several, by commas, if it ran them in turn.")
flags.DEFINE_list("feed", [], "Settings that stay as they are, as placeholder=value, by commas.")
command.define_json()
flags.DEFINE_integer("rows", 40, "Rows of a section that are printed.", lower_bound=1)

FLAGS = flags.FLAGS


def main(graph):
    feed = command.assignments(FLAGS.feed, "--feed", "placeholder=value")
    environment.prepare(exact=False)
    from legacy.saved.report import page

    sections = page.inspect(graph, FLAGS.train_op, feed)
    for line in page.text(sections, FLAGS.rows):
        print(line)
    command.write_json(sections)


console = command.entry(main, __doc__, "GRAPH")

if __name__ == "__main__":
    console()
