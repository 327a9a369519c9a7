"""Facts of the learning rates of a training step, and their values at some steps."""

from __future__ import annotations

import collections
from typing import Dict, Tuple

import numpy as np
import tensorflow as tf

from legacy.saved.facts.analysed_step import AnalysedStep
from legacy.saved.facts.whole_graph import scalar_constant
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.graph.importing import import_graph
from workloads.lifted.pieces.piece import Feed, Piece

v1 = tf.compat.v1
#: Steps at which a schedule is evaluated.
STEPS = (0, 100, 1000, 10000, 100000)
#: So many values of a schedule are shown; later boundaries than this are none.
MOST_VALUES, LAST_STEP = 8, 10**7
#: Relative difference within which two values of a schedule are equal.
SAME_VALUE = 1e-6

#: {text and constants of a schedule: its values at some steps}; many tensors are the same function.
_Schedules = Dict[Tuple[object, ...], str]


def learning_rate_rows(analysed: AnalysedStep) -> list[dict[str, str]]:
    """The tensors that update rules take as learning rate, and those by which rules written by hand scale."""
    rows: dict[tuple[str, ...], list[str]] = collections.OrderedDict()
    schedules: _Schedules = {}
    for phase in analysed.plan.phases:
        for tensor in dict.fromkeys(filter(None, map(analysed.learning_rate, phase.effects))):
            facts = _learning_rate(analysed, tensor, schedules)
            rows.setdefault((phase.train_op, facts["is"], facts["values"]), []).append(tensor)
    return [
        {"train op": op, "tensor": names[0], "is": text, "values": values} for (op, text, values), names in rows.items()
    ]


def _learning_rate(analysed: AnalysedStep, tensor: str, schedules: _Schedules) -> dict[str, str]:
    """{"is": description, "values": values at some steps} of a learning rate; evaluated ones enter `schedules`."""
    constant = analysed.imported.constant(*parse_tensor_name(tensor))
    if constant is not None:
        return {"is": f"{float(constant):g}, always", "values": "-"}
    if parse_tensor_name(tensor)[0] in analysed.plan.sources:
        return {"is": "fed at every step", "values": "-"}
    piece = analysed.cutter.piece([tensor], list(analysed.plan.tensors))
    reads = [feed for feed in piece.feeds if feed.kind == "read"]
    names = ", ".join(feed.key[0] for feed in reads) or "inputs"
    kinds = sorted({n.op for n in piece.graph_def.node} - {"Const", "Placeholder", "Identity", "Cast"})
    counted = all(analysed.is_counter(feed.key[0]) for feed in reads)
    outside = [feed.key[0] for feed in reads if not analysed.is_changed(feed.key[0])]
    text = f"a function of {names}, by {', '.join(kinds)}" if kinds else f"the value of {names}"
    constants = [scalar_constant(node) for node in piece.graph_def.node]
    numbers = list(dict.fromkeys(f"{number:g}" for number in constants if number is not None and number != 1))
    text += f"; constants {', '.join(numbers)}" if numbers and kinds else ""
    text += f"; the step does not change {', '.join(outside)}" if outside else ""
    key = (text, *(node.attr["value"].SerializeToString() for node in piece.graph_def.node))
    if counted and key not in schedules:
        schedules[key] = _values_by_step(piece, reads)
    return {"is": text, "values": schedules[key] if counted else "-"}


def _values_by_step(piece: Piece, reads: list[Feed]) -> str:
    """A schedule's values at some steps, e.g. "0: 0.1, 1000: 0.01"; "-" unless it is a function of one scalar."""
    if len(reads) != 1 or len(piece.feeds) != 1:
        return "-"
    with tf.Graph().as_default(), v1.Session() as session:
        (tensor,) = import_graph(piece.graph_def, fetches=piece.fetches, subject="graph file")
        holder = session.graph.get_tensor_by_name(reads[0].placeholder + ":0")
        if holder.shape.rank != 0:
            return "-"
        found: list[tuple[int, float]] = []
        try:
            for step in _telling_steps(piece):
                value = float(session.run(tensor, {holder: step}))
                if not found or abs(value - found[-1][1]) > SAME_VALUE * abs(value):
                    found.append((step, value))
        except tf.errors.OpError:
            return "-"
    return ", ".join(f"{step}: {value:.6g}" for step, value in found[:MOST_VALUES])


def _telling_steps(piece: Piece) -> list[int]:
    """Steps at which a schedule is evaluated: some powers of ten, its own boundaries and the steps behind them."""
    steps = set(STEPS)
    for node in piece.graph_def.node:
        values = np.ravel(tf.make_ndarray(node.attr["value"].tensor)).tolist() if node.op == "Const" else []
        numbers = [float(number) for number in values if isinstance(number, (int, float))]
        steps |= {int(n) + more for n in numbers if n == int(n) and 1 < n < LAST_STEP for more in (0, 1)}
    return sorted(steps)
