"""Lifts a saved graph: from the file that an old program left to a folder that goes wherever a workload goes."""

from __future__ import annotations

import os

from legacy.saved.analysis import analyse, initial_values
from legacy.saved.graph import graph_file
from legacy.saved.report import facts
from workloads.lifted import workload
from workloads.support.errors import InputError


def lift(path, out, checkpoint=None, train_op=(), feed=None, allow_ops=(), name=None, carry=None, progress=None):
    """Lifts a saved graph into a folder.

    Args:
      path: the graph file.
      out: the folder to write.
      checkpoint: of the values to start from, or None for the graph's own initial values.
      train_op, feed, carry: see `analyse.analyse_graph`.
      allow_ops: types of unsafe ops that may stay in the graph.
      name: of the workload.
      progress: called with what is being done, in words, or None.

    Returns:
      `plan.Plan`.

    Raises:
      InputError: the graph or the checkpoint cannot be used, or the graph runs unsafe ops that were not allowed.
    """
    tell = progress or (lambda text: None)
    tell("reading " + path)
    saved = graph_file.read_graph_file(path)
    name = name or os.path.basename(path).partition(".")[0]
    tell("taking the training step apart")
    found = analyse.analyse_graph(saved, name, train_op, feed, carry)
    refused = {node: kind for node, kind in found.plan.unsafe.items() if kind not in allow_ops}
    if refused:
        listed = ", ".join(f"{node} ({kind})" for node, kind in sorted(refused.items())[:8])
        kinds = ",".join(sorted(set(refused.values())))
        raise InputError(
            f"graph file: a step of this graph runs Python, touches files or reaches the network: {listed}; if you trust it, "
            f"--allow_ops={kinds}"
        )
    tell("collecting values")
    if checkpoint:
        start = initial_values.values_from_checkpoint(checkpoint, found.plan, found.whole)
    else:
        start = initial_values.values_from_initializers([v.name for v in found.plan.variables], found.whole)
    for variable in found.plan.variables:
        variable.shape = list(start[variable.name].shape)
    found.plan.about = dict(facts.description_fields(facts.program_facts(saved, found)), graph=os.path.basename(path))
    found.plan.about["written by TensorFlow"] = saved.written_by
    tell("writing " + out)
    workload.save(out, found.plan, found.cut.graph.graph_def, start)
    return found.plan
