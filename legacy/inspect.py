"""`python -m legacy.inspect model.ckpt-1000.meta`: what is this old program? Reads its graph and runs nothing.

Also reads graph.pbtxt, a GraphDef (.pb) and events files. Shows towers and how they were told apart, inputs, losses,
how gradients are combined, optimizers and schedules, variables, statistics, devices, and what a port must watch for.
"""

from __future__ import annotations

from absl import flags

from workloads.support import environment, json_file
from workloads.support.errors import pairs, require, run_main

flags.DEFINE_list("train_op", [], "What the program ran to train; several, by commas, if it ran them in turn.")
flags.DEFINE_list("feed", [], "Settings that stay as they are, as placeholder=value, by commas.")
flags.DEFINE_string("json", None, "Write everything here.")
flags.DEFINE_integer("rows", 40, "Rows of a section that are printed.", lower_bound=1)

FLAGS = flags.FLAGS


def main(argv):
    require(len(argv) == 2, "argument", argv[1:], "name one graph file; see --help")
    feed = pairs(FLAGS.feed, "--feed", "placeholder=value")
    if FLAGS.json:
        json_file.require_writable(FLAGS.json, "--json")
    environment.prepare(exact=False)
    from legacy.saved.report import page

    sections = page.inspect(argv[1], FLAGS.train_op, feed)
    for line in page.text(sections, FLAGS.rows):
        print(line)
    if FLAGS.json:
        json_file.write_json(FLAGS.json, sections)


def console():
    """Entry point."""
    run_main(main)


if __name__ == "__main__":
    console()
