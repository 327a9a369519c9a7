"""Runs one tower of the old graph on made-up numbers: its loss, gradients, statistics and random numbers."""

from __future__ import annotations

import contextlib
import copy
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

import numpy as np
import tensorflow as tf

from legacy.source.basics.branches import with_choices
from legacy.source.basics.cut import Cut, cut_part
from legacy.source.made_up_tower import ROWS, made_up_seed, tower_data, value_of
from legacy.source.step.integer_noise import integer_bounds, integers_of_bits, made_up_bits
from legacy.source.step.towers import parts_of_tower
from legacy.towers.program import session_config
from workloads.frame import COMMON
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.graph.importing import import_graph
from workloads.lifted.graph.sums import add_in_order
from workloads.lifted.pieces.piece import VariableVersion

if TYPE_CHECKING:
    from legacy.source.made_up_tower import Tower
    from workloads.lifted.pieces.piece import Feed
    from workloads.program import Arrays

v1 = tf.compat.v1

#: Text of TensorFlow's error where what is fetched is in a branch that is not taken.
_NOT_TAKEN = "does not have value"
#: Factor on a tower's loss, where the old graph computes one from all towers' results.
FACTOR = 0.5
#: Made-up numbers are drawn as often, until the ops of a tower run with them.
_DRAWS = 4


def old_results(
    tower: Tower, gradients: Sequence[str], data: Mapping[int, Arrays]
) -> Tuple[List[List[np.ndarray]], Dict[int, Arrays]]:
    """Runs a tower of the old graph, from each of its states.

    Args:
      tower: the tower.
      gradients: tensors to compute.
      data: {tower: its data} of all towers whose results are computed. With this tower's alone, `FACTOR` is fed for
        each tensor that returns to it from all towers.

    Returns:
      Of each state that the tower runs from: loss, gradients, changes of statistics and `parts_of_tower`. And
      {tower: {random stream: its numbers}}.
    """
    returned = tower.phase.returns[tower.number] if any(tower.phase.returns) and len(data) == 1 else []
    cut = _tower_part(tower, gradients, data, returned)
    with tf.Graph().as_default() as graph, v1.Session(config=session_config(["CPU:0"], True)) as session:
        names = [name if ":" in name else name + ":0" for name in cut.fetches]
        graph_def = copy.deepcopy(cut.piece.graph_def)
        add_in_order(graph_def)
        results = import_graph(graph_def, fetches=names, subject="graph file")
        fed = _known_values(tower, graph, cut, data, returned)
        noises = _draw_numbers(tower, session, cut, data, fed)
        found = [session.run(results, fed)]
        for state in tower.states[1:]:
            fed.update(_values_of_variables(graph, cut, state))
            with contextlib.suppress(tf.errors.InvalidArgumentError):  # the random numbers have other shapes there
                found.append(session.run(results, fed))
        return found, noises


def run_tower(tower: Tower, tensors: Sequence[str], needed: Sequence[int]) -> Tuple[Dict[int, Arrays], Any]:
    """Returns data of the towers, and a tower's results, on the first of a few draws of numbers that its ops run with.

    A program may make as many zeros as are left of a number when it has counted what a batch has.

    Args:
      tower: the tower.
      tensors: see `old_results`.
      needed: the towers whose data are needed.

    Returns:
      Both.
    """
    failed: Optional[Exception] = None
    for draw in range(1 if tower.examples else _DRAWS):
        data = {n: tower_data(tower._replace(draw=draw), n) for n in needed}
        try:
            return data, old_results(tower, tensors, data)
        except tf.errors.InvalidArgumentError as error:  # of the old graph, and not of what is written
            failed = failed or error
    assert failed is not None
    raise failed


def _tower_part(tower: Tower, gradients: Sequence[str], data: Mapping[int, Arrays], returned: Sequence[str]) -> Cut:
    """Cuts the part of the old graph that computes a tower's results out of it.

    Args:
      tower: the tower.
      gradients: tensors to compute, besides those of `old_results`.
      data: {tower: its data}; the part begins at the inputs of these towers.
      returned: tensors at which the part begins, too.

    Returns:
      The part.
    """
    plan, phase = tower.plan, tower.phase
    inputs = [entry.tensors[min(n, len(entry.tensors) - 1)] for n in data for entry in plan.inputs + plan.common]
    fetches = [phase.losses[tower.number], *gradients, *(proposal.value for proposal in tower.proposals)]
    fetches += [proposal.rows for proposal in tower.proposals if proposal.rows]
    fetches += parts_of_tower(phase, tower.number)
    return cut_part(plan, tower.graph, fetches, [*dict.fromkeys(inputs), *returned], phase.versions)


def _known_values(
    tower: Tower, graph: tf.Graph, cut: Cut, data: Mapping[int, Arrays], returned: Sequence[str]
) -> Dict[tf.Tensor, Any]:
    """Returns {placeholder: value} of all placeholders of a tower's part but those of random numbers outside of loops.

    Args:
      tower: the tower.
      graph: the part, imported.
      cut: the part.
      data: {tower: its data}.
      returned: tensors that return to the tower.

    Returns:
      Values of variables and data, seeds of what loops draw, and `FACTOR` for what returns.
    """
    entries = tower.plan.inputs + tower.plan.common
    fed: Dict[tf.Tensor, Any] = _values_of_variables(graph, cut, tower.values)
    for feed in [feed for feed in cut.piece.feeds if feed.kind != "drawn"]:
        tensor = graph.get_tensor_by_name(feed.placeholder + ":0")
        if isinstance(feed.key, VariableVersion):
            continue
        if feed.key in returned:
            fed[tensor] = FACTOR
        elif feed.kind == "noise":
            stream, number = _stream_of(tower, str(feed.key))
            fed[tensor] = made_up_seed(stream, number)
        else:
            entry = next(entry for entry in entries if feed.key in entry.tensors)
            fed[tensor] = value_of(entry, _taker(entry.tensors, str(feed.key), tower.number), data)
    return fed


def _values_of_variables(graph: tf.Graph, cut: Cut, values: Arrays) -> Dict[tf.Tensor, np.ndarray]:
    """Returns {placeholder: value} of the variables that a tower's part reads."""
    read = [(feed.placeholder, feed.key) for feed in cut.piece.feeds]
    versions = [(holder, key.variable) for holder, key in read if isinstance(key, VariableVersion)]
    return {graph.get_tensor_by_name(holder + ":0"): values[variable] for holder, variable in versions}


def _draw_numbers(
    tower: Tower, session: tf.compat.v1.Session, cut: Cut, data: Mapping[int, Arrays], fed: Dict[tf.Tensor, Any]
) -> Dict[int, Arrays]:
    """Draws the random numbers of a tower's part, and adds them to what is fed.

    Args:
      tower: the tower.
      session: of the part.
      cut: the part.
      data: {tower: its data}.
      fed: {placeholder: value}; gets the numbers.

    Returns:
      {tower: {random stream: its numbers}}.
    """
    noises: Dict[int, Arrays] = {number: {} for number in data}
    drawn = [feed for feed in cut.piece.feeds if feed.kind == "drawn"]
    tensors = [session.graph.get_tensor_by_name(feed.placeholder + ":0") for feed in drawn]
    for feed, tensor in _in_order_of_shapes(session.graph, cut, list(zip(drawn, tensors))):
        node = str(feed.key).partition(":")[0]
        stream, number = _stream_of(tower, node)
        shape = _noise_shape(session, cut, feed.placeholder, tensor, fed)
        shape = [size or tower.plan.batch or ROWS for size in shape]
        rng = np.random.RandomState(2 + number)
        bounds = integer_bounds(tower.graph, node) if tensor.dtype == tf.int32 else None
        if bounds is not None:
            numbers = made_up_bits(shape, rng)
            fed[tensor] = integers_of_bits(numbers, bounds)
        else:
            numbers = fed[tensor] = np.asarray(rng.random_sample(shape), np.float32)
        for drawing in noises if number == COMMON else [number]:
            noises[drawing][stream] = numbers
    return noises


def _stream_of(tower: Tower, node: str) -> Tuple[str, int]:
    """Returns the name in the text of a random op's stream, and the tower that draws; `COMMON` for all of them."""
    plan = tower.plan
    stream = next(entry for entry in plan.noise + plan.common_noise if node in entry.nodes)
    number = COMMON if stream in plan.common_noise else _taker(stream.nodes, node, tower.number)
    return tower.names.streams[stream.name], number


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
    shape = source if ":" in source else source + ":0"
    try:
        return [int(size) for size in session.run(session.graph.get_tensor_by_name(shape), fed)]
    except tf.errors.InvalidArgumentError as error:
        if _NOT_TAKEN not in str(error):
            raise
        return _shape_in_branch(cut, shape, fed)


def _shape_in_branch(cut: Cut, shape: str, fed: Mapping[tf.Tensor, Any]) -> List[int]:
    """Returns a shape that is computed in a branch which is not taken: as choices, both branches have values."""
    node = parse_tensor_name(shape).node
    before = Graph(cut.piece.graph_def).ancestors({node})
    part = v1.GraphDef(node=[one for one in cut.piece.graph_def.node if one.name in before])
    with tf.Graph().as_default() as graph, v1.Session(config=session_config(["CPU:0"], True)) as session:
        (found,) = import_graph(with_choices(part), fetches=[shape], subject="graph file")
        own = {tensor.name: value for tensor, value in fed.items() if tensor.op.name in before}
        given = {graph.get_tensor_by_name(name): value for name, value in own.items()}
        return [int(size) for size in session.run(found, given)]
