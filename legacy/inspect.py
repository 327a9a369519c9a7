"""`python -m legacy.inspect GRAPH`: describe a training program of TensorFlow 1.x from its saved graph; nothing is run.

GRAPH is a .meta file (model.ckpt-1000.meta), graph.pbtxt, a GraphDef (.pb), a saved_model.pb or an events file. Shows
the towers and how they were recognised, inputs, losses, the combining of gradients, optimizers and schedules,
variables, moving statistics, devices, and the hazards of a port.
"""

from __future__ import annotations

import os

from absl import flags

from legacy import saved_graph_flags
from workloads.html import report_flag
from workloads.support.command_line import command
from workloads.support.machine import environment
from workloads.support.processes import isolation

saved_graph_flags.define_graph_flags(flags.FLAGS)
command.define_json()
report_flag.define_report(flags.FLAGS)
flags.DEFINE_integer(
    "rows", 40, "Rows to print of each section; of a longer one, rows that are alike become one.", lower_bound=1
)

FLAGS = flags.FLAGS


def main(graph: str) -> int:
    """Prints the page about the file `graph`."""
    report_flag.check_report(FLAGS)
    feed = saved_graph_flags.feed_from_flags(FLAGS)
    limits = isolation.limits_of_files(saved_graph_flags.graph_size(graph))
    return command.isolated(lambda: _inspect(graph, feed), f"graph file: {graph!r}", limits)


def _inspect(graph: str, feed: dict[str, str]) -> int:
    """Prints the page; runs in a child process, since a damaged graph can crash TensorFlow."""
    environment.prepare(exact=False)
    from legacy.saved.report.page import inspect_graph
    from legacy.saved.report.page_text import page_lines
    from workloads.progress.progress import Progress

    Progress("inspect " + os.path.basename(graph)).stage("reading the graph")
    sections = inspect_graph(graph, FLAGS.train_op, feed, FLAGS["with"].value, FLAGS.layout)
    for line in page_lines(sections, FLAGS.rows):
        print(line)
    command.write_json(sections)

    def html_page() -> str:
        from legacy.saved.report.html_page import inspection_page

        return inspection_page(graph, sections)

    report_flag.write_report(html_page, FLAGS)
    return 0


console = command.entry(main, __doc__, "GRAPH")

if __name__ == "__main__":
    console()
