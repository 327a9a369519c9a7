"""One tower of the old graph on made-up numbers: its data, its random numbers, and what it computes."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, NamedTuple, Sequence, Set, Tuple

import numpy as np
import tensorflow as tf

from legacy.source.basics.cut import Cut, cut_part, example_sizes
from legacy.source.step.towers import parts_of_tower
from legacy.towers.program import session_config
from workloads.lifted.graph.importing import import_graph
from workloads.lifted.graph.sums import add_in_order
from workloads.lifted.made_up_data import BatchSize, made_up_sparse_tensor, sparse_groups
from workloads.lifted.pieces.piece import VariableVersion

if TYPE_CHECKING:
    from legacy.source.step.input_names import InputNames
    from legacy.source.step.statistics import Proposal
    from workloads.lifted.graph import Graph
    from workloads.lifted.pieces.piece import Feed
    from workloads.lifted.plan import Input, Phase, Plan
    from workloads.program import Arrays

v1 = tf.compat.v1

#: Examples of one tower, where the graph takes any number.
ROWS = 8
#: What a tower's loss is multiplied by, where that follows from all towers' results.
FACTOR = 0.5


class Tower(NamedTuple):
    """One tower of a lift on made-up numbers.

    Attributes:
      plan: of the lift.
      graph: of the lift.
      values: {variable: array}.
      settings: {scalar input: value}.
      proposals: the statistics that it changes.
      number: of the tower.
      phase: the train op.
      names: of the inputs in the written function.
    """

    plan: Plan
    graph: Graph
    values: Arrays
    settings: Mapping[str, float]
    proposals: Sequence[Proposal]
    number: int
    phase: Phase
    names: InputNames


def made_up_data(tower: Tower, number: int) -> Arrays:
    """Returns {input of the plan: array} for tower `number`."""
    rng = np.random.RandomState(1 + number)
    entries = tower.plan.inputs + tower.plan.common
    rows = tower.plan.batch or ROWS
    data: Arrays = {}
    for entry in [entry for entry in entries if not entry.sparse]:
        if entry.kind == "setting":
            data[entry.name] = np.asarray(tower.settings[entry.name], entry.dtype)
            continue
        shape = [rows, *example_sizes(entry)]
        limit = max(entry.limit or 2, entry.low + 1)
        drawn = rng.randint(entry.low, limit, shape) if "int" in entry.dtype else rng.random_sample(shape)
        data[entry.name] = np.asarray(drawn, entry.dtype)
    for parts in sparse_groups(entries).values():
        data.update(made_up_sparse_tensor(parts, BatchSize(rows, tower.plan.towers), rng))
    return data


def value_of(entry: Input, number: int, data: Mapping[int, Arrays]) -> np.ndarray:
    """Returns what tower `number` is given for an input: of one that towers share, the first of them's.

    Args:
      entry: the input.
      number: of the tower.
      data: {tower: its made-up data}.

    Returns:
      The array.
    """
    tensor = entry.tensors[min(number, len(entry.tensors) - 1)]
    sharing = [tower for tower in data if entry.tensors[min(tower, len(entry.tensors) - 1)] == tensor]
    return data[sharing[0]][entry.name]


def old_results(
    tower: Tower, gradients: Sequence[str], data: Mapping[int, Arrays]
) -> Tuple[List[np.ndarray], Dict[int, Arrays]]:
    """Runs a tower of the old graph.

    Args:
      tower: the tower.
      gradients: tensors to compute.
      data: {tower: its data}; without the other towers', what returns to the tower from all towers is `FACTOR`.

    Returns:
      Loss, gradients, changes of statistics and `parts_of_tower`, and {tower: {random stream: its numbers}}.
    """
    plan, phase = tower.plan, tower.phase
    entries = plan.inputs + plan.common
    cuts = [entry.tensors[min(n, len(entry.tensors) - 1)] for n in data for entry in entries]
    fetches = [phase.losses[tower.number], *gradients, *(p.value for p in tower.proposals)]
    fetches += [proposal.rows for proposal in tower.proposals if proposal.rows]
    fetches += parts_of_tower(phase, tower.number)
    returned = phase.returns[tower.number] if any(phase.returns) and len(data) == 1 else []
    cut: Cut = cut_part(plan, tower.graph, fetches, [*dict.fromkeys(cuts), *returned], phase.versions)
    noises: Dict[int, Arrays] = {number: {} for number in data}
    with tf.Graph().as_default() as graph, v1.Session(config=session_config(["CPU:0"], True)) as session:
        names = [name if ":" in name else name + ":0" for name in cut.fetches]
        graph_def = copy.deepcopy(cut.piece.graph_def)
        add_in_order(graph_def)
        results = import_graph(graph_def, fetches=names, subject="graph file")
        fed: Dict[tf.Tensor, Any] = {}
        drawn = []
        for feed in cut.piece.feeds:
            tensor = graph.get_tensor_by_name(feed.placeholder + ":0")
            if isinstance(feed.key, VariableVersion):
                fed[tensor] = tower.values[feed.key.variable]
            elif feed.key in returned:
                fed[tensor] = FACTOR
            elif feed.kind == "drawn":
                drawn.append((feed, tensor))
            else:
                entry = next(entry for entry in entries if feed.key in entry.tensors)
                fed[tensor] = value_of(entry, _taker(entry.tensors, str(feed.key), tower.number), data)
        for feed, tensor in _in_order_of_shapes(graph, cut, drawn):
            node = str(feed.key).partition(":")[0]
            stream = next(entry for entry in plan.noise if node in entry.nodes)
            shape = _noise_shape(session, cut, feed.placeholder, tensor, fed)
            shape = [size or tower.plan.batch or ROWS for size in shape]
            number = _taker(stream.nodes, node, tower.number)
            values = np.asarray(np.random.RandomState(2 + number).random_sample(shape), np.float32)
            noises[number][tower.names.streams[stream.name]] = fed[tensor] = values
        return session.run(results, fed), noises


def _taker(tensors: Sequence[str | None], tensor: str, number: int) -> int:
    """Returns the tower that a tensor is of: tower `number` if it takes the tensor, else the first one that does."""
    own = tensors[min(number, len(tensors) - 1)]
    return number if own == tensor else tensors.index(tensor)


def _in_order_of_shapes(
    graph: tf.Graph, cut: Cut, drawn: Sequence[Tuple[Feed, tf.Tensor]]
) -> List[Tuple[Feed, tf.Tensor]]:
    """Returns placeholders of random numbers so that each follows those that its shape is computed from."""
    by_op = {tensor.op: (feed, tensor) for feed, tensor in drawn}
    found: Dict[tf.Operation, Tuple[Feed, tf.Tensor]] = {}

    def add(op: tf.Operation) -> None:
        if op in found:
            return
        source = cut.noise_shapes.get(op.name, "").partition(":")[0]
        before = _ancestors(graph.get_operation_by_name(source)) if source else set()
        for other in [other for other in by_op if other in before and other is not op]:
            add(other)
        found[op] = by_op[op]

    for op in by_op:
        add(op)
    return list(found.values())


def _ancestors(op: tf.Operation) -> Set[tf.Operation]:
    """Returns an op and the ops that its inputs are computed by."""
    found, todo = {op}, [op]
    while todo:
        new = {tensor.op for tensor in todo.pop().inputs} - found
        found |= new
        todo += new
    return found


def _noise_shape(
    session: tf.compat.v1.Session, cut: Cut, placeholder: str, tensor: tf.Tensor, fed: Mapping[tf.Tensor, Any]
) -> List[int]:
    """Returns the shape of random numbers: the placeholder's, or what the graph computes for it from what is fed."""
    if placeholder not in cut.noise_shapes:
        return list(tensor.shape.as_list())
    source = cut.noise_shapes[placeholder]
    shape = session.graph.get_tensor_by_name(source if ":" in source else source + ":0")
    return [int(size) for size in session.run(shape, fed)]
