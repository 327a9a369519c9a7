"""`python -m legacy.inspect model.ckpt-1000.meta`: what is this old program? Reads its graph and runs nothing.

Also reads graph.pbtxt, a GraphDef (.pb) and events files. Shows towers and how they were told apart, inputs, losses,
how gradients are combined, optimizers and schedules, variables, statistics, devices, and what a port must watch for.
"""

from __future__ import annotations

import json
import os

from absl import flags

from workloads import environment
from workloads.errors import InputError, require, run_main

flags.DEFINE_list("train_op", [], "What the program ran to train; several, by commas, if it ran them in turn.")
flags.DEFINE_list("feed", [], "Settings that stay as they are, as placeholder=value, by commas.")
flags.DEFINE_string("json", None, "Write everything here.")
flags.DEFINE_integer("rows", 40, "Rows of a section that are printed.", lower_bound=1)

FLAGS = flags.FLAGS


def main(argv):
    require(len(argv) == 2, "argument", argv[1:], "name one graph file; see --help")
    for pair in FLAGS.feed:
        require("=" in pair, "--feed", pair, "expected placeholder=value")
    environment.prepare(exact=False)
    from legacy.saved import page

    sections = page.inspect(argv[1], FLAGS.train_op, dict(pair.split("=", 1) for pair in FLAGS.feed))
    for line in page.text(sections, FLAGS.rows):
        print(line)
    if FLAGS.json:
        _write(FLAGS.json, sections)


def _write(path, sections):
    part = "{}.part{}".format(path, os.getpid())
    try:
        with open(part, "w", encoding="utf-8") as file:
            json.dump(sections, file, indent=1)
            file.write("\n")
        os.replace(part, path)
    except OSError as error:
        raise InputError("--json: cannot write {}: {}".format(path, error.strerror))


def console():
    """Entry point."""
    run_main(main)


if __name__ == "__main__":
    console()
