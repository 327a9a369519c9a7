"""The forward pass of one tower as a graph of its own, with static shapes and with constants computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Sequence, Set

import numpy as np
import tensorflow as tf

from legacy.source.basics.branches import merge_branches
from legacy.source.basics.loops import take_out_loops
from workloads.lifted.cutter import Cutter
from workloads.lifted.graph import forget_placement, parse_tensor_name
from workloads.lifted.importing import import_graph
from workloads.lifted.made_up_data import BatchSize, made_up_shape
from workloads.lifted.noise import loop_counters
from workloads.lifted.piece import VariableVersion
from workloads.lifted.plan_records import TensorType
from workloads.support.errors import InputError

if TYPE_CHECKING:
    from legacy.source.basics.loops import Loop
    from workloads.lifted.graph import Graph
    from workloads.lifted.piece import Feed, Fetch, Piece
    from workloads.lifted.plan import Input, Plan
    from workloads.lifted.plan_records import ReadVersion

v1 = tf.compat.v1

#: Batch sizes of a graph that takes any: what differs between the two depends on the batch.
BATCHES = ((14, 22), (8, 12), (8, 16))
#: The largest constant that is computed instead of written as the ops that make it.
MOST_FOLDED = 64
#: Ops whose value follows from the static shape of their input.
SHAPE_OPS = ("Shape", "ShapeN", "Size", "Rank")
ONES = ("OnesLike", "ZerosLike")
#: Graphs of this version and later may have placeholders that are known to be scalars.
_SCALAR_PLACEHOLDERS = 24
_CONTROL_FLOW = ("Enter", "Exit", "Switch", "Merge", "NextIteration", "LoopCond")


class Cut(NamedTuple):
    """A part of the graph that is to be written, cut out.

    Attributes:
      piece: the part.
      feeds: {placeholder: feed}.
      fetches: names of the tensors in it that are computed.
      noise_shapes: {placeholder of random numbers: tensor of their shape}, where the graph does not tell it at once.
    """

    piece: Piece
    feeds: Dict[str, Feed]
    fetches: List[str]
    noise_shapes: Dict[str, str] = {}


def cutter_of(plan: Plan, graph: Graph) -> Cutter:
    """Returns a cutter of a lift's graph that makes random numbers inputs; those in loops stay keyed."""
    entries = plan.noise + plan.common_noise
    random = {node: entry.how if entry.in_loop else "drawn" for entry in entries for node in entry.nodes if node}
    variables = {v.name: TensorType(v.dtype, list(v.shape)) for v in plan.variables}
    return Cutter(graph, plan.aliases, variables, plan.tensors.__getitem__, random, loop_counters(plan))


def cut_part(
    plan: Plan,
    graph: Graph,
    fetches: Sequence[str | Fetch],
    cuts: Sequence[str],
    versions: Sequence[ReadVersion] = (),
) -> Cut:
    """Cuts a part out of a lift's graph.

    Args:
      plan: of the lift.
      graph: of the lift.
      fetches: the tensors that it computes.
      cuts: the tensors that are given.
      versions: the reads that see a variable after the step has changed it.

    Returns:
      The part.
    """
    cutter = cutter_of(plan, graph)
    piece = cutter.piece(fetches, cuts, versions)
    drawn = [str(feed.key) for feed in piece.feeds if feed.kind == "drawn"]
    drawn = [tensor for tensor in drawn if None in (plan.tensors[tensor].shape or [None])]
    sizes = [graph.inputs(parse_tensor_name(tensor).node)[0].name for tensor in drawn]
    if sizes:
        piece = cutter.piece([*fetches, *sizes], cuts, versions)
    shapes = dict(zip(drawn, piece.fetches[len(fetches) :]))
    feeds = {feed.placeholder: feed for feed in piece.feeds}
    known = {name: shapes[str(feed.key)] for name, feed in feeds.items() if str(feed.key) in shapes}
    return Cut(piece, feeds, list(piece.fetches[: len(fetches)]), known)


def with_noise_shapes(cut: Cut) -> Any:
    """Returns a part's GraphDef with random ops for random numbers whose shape follows from other tensors."""
    graph_def = v1.GraphDef()
    graph_def.CopyFrom(cut.piece.graph_def)
    for node in graph_def.node:
        if node.name in cut.noise_shapes:
            node.op = "RandomUniform"
            node.input.append(cut.noise_shapes[node.name])
            node.attr["T"].type = tf.int32.as_datatype_enum
            del node.attr["shape"]
    return graph_def


class Typed:
    """A part of the graph as TensorFlow imports it with static shapes, at one batch size.

    Args:
      graph_def: the part.
      shapes: {placeholder: static shape}.
      opaque: names of ops whose results do not follow from their inputs alone, such as loops.

    Attributes:
      graph: the `tf.Graph`.
      constants: {tensor: its value} of the tensors that follow from shapes and constants alone, if they are small.
    """

    def __init__(self, graph_def: Any, shapes: Dict[str, Sequence[Optional[int]]], opaque: Sequence[str] = ()) -> None:
        self._opaque = set(opaque)
        shaped = v1.GraphDef()
        shaped.CopyFrom(graph_def)
        for node in shaped.node:
            if node.name in shapes:
                node.attr["shape"].shape.CopyFrom(tf.TensorShape(shapes[node.name]).as_proto())
        self.graph = tf.Graph()
        with self.graph.as_default():
            import_graph(shaped, subject="graph file")
        self.constants = self._computed_constants()

    def operations(self) -> list[tf.Operation]:
        """Returns the ops, in the order of the graph."""
        return self.graph.get_operations()

    def _computed_constants(self) -> Dict[str, np.ndarray]:
        folding = v1.GraphDef()
        library: Set[str] = set()
        small: List[str] = []
        for operation in self.operations():
            value = _known_value(operation)
            if value is not None:
                for number, array in enumerate(value):
                    node = folding.node.add(name=_flat(operation.outputs[number].name), op="Const")
                    node.attr["dtype"].type = operation.outputs[number].dtype.as_datatype_enum
                    node.attr["value"].tensor.CopyFrom(v1.make_tensor_proto(array))
            elif operation.name not in self._opaque and _is_foldable(operation, library):
                node = folding.node.add()
                node.CopyFrom(operation.node_def)
                forget_placement(node)
                del node.input[:]
                node.input.extend(_source(tensor) for tensor in operation.inputs)
            else:
                continue
            library |= {out.name for out in operation.outputs}
            small += [out.name for out in operation.outputs if _is_small(out)]
        if not small:
            return {}
        with tf.Graph().as_default(), v1.Session() as session:
            known = [self.graph.get_tensor_by_name(name) for name in small]
            sources = [_source(tensor) for tensor in known]
            fetches = [source if ":" in source else source + ":0" for source in sources]
            values = session.run(import_graph(folding, fetches=fetches, subject="graph file"))
        return dict(zip(small, values))


def _flat(tensor: str) -> str:
    """Returns the name of the constant that stands for one output of a shape op."""
    return tensor.replace(":", "__shape_")


def _source(tensor: tf.Tensor) -> str:
    """Returns the text by which a NodeDef of the folded graph takes a tensor."""
    return _flat(tensor.name) if _known_value(tensor.op) is not None else tensor.name


def _known_value(operation: tf.Operation) -> List[np.ndarray] | None:
    """Returns the values of an op's outputs if they follow from the static shapes of its inputs."""
    if not operation.inputs or not _has_static_inputs(operation):
        return None
    if operation.type in SHAPE_OPS:
        return [_shape_value(operation, number) for number in range(len(operation.outputs))]
    if operation.type in ONES and _is_small(operation.outputs[0]):
        like = np.ones if operation.type == "OnesLike" else np.zeros
        return [like(operation.outputs[0].shape.as_list(), operation.outputs[0].dtype.as_numpy_dtype)]
    return None


def _has_static_inputs(operation: tf.Operation) -> bool:
    return all(tensor.shape.is_fully_defined() for tensor in operation.inputs)


def _shape_value(operation: tf.Operation, number: int) -> np.ndarray:
    shape = operation.inputs[number].shape.as_list()
    dtype = operation.outputs[number].dtype.as_numpy_dtype
    if operation.type == "Size":
        return np.array(np.prod(shape, dtype=np.int64), dtype)
    return np.array(len(shape) if operation.type == "Rank" else shape, dtype)


def _is_foldable(operation: tf.Operation, known: Set[str]) -> bool:
    """Returns whether an op's value follows from known tensors alone."""
    if operation.type == "Const":
        return True
    if operation.type in _CONTROL_FLOW or operation.op_def.is_stateful or not operation.inputs:
        return False
    return all(tensor.name in known for tensor in operation.inputs)


def _is_small(tensor: tf.Tensor) -> bool:
    shape = tensor.shape
    numbers = tensor.dtype.is_floating or tensor.dtype.is_integer or tensor.dtype.is_bool
    return bool(numbers and shape.is_fully_defined() and shape.num_elements() <= MOST_FOLDED)


class Forward:
    """A part of the graph with the knowledge of which of its constants depend on the size of the batch.

    Args:
      cut: the part.
      plan: of the lift.

    Attributes:
      cut: the part.
      typed: the part, imported at `batch` examples.
      batch: the number of examples.
      fixed: whether the graph takes this number only.
      loops: {op: loop that it stands for}.
    """

    def __init__(self, cut: Cut, plan: Plan) -> None:
        self.cut = cut
        without_loops, loops = take_out_loops(with_noise_shapes(cut))
        self._graph_def = merge_branches(without_loops)
        self.loops = {loop.name: loop for loop in loops}
        self._inputs = {tensor: entry for entry in plan.inputs + plan.common for tensor in entry.tensors}
        self.fixed = plan.batch is not None
        sizes = ((plan.batch, plan.batch),) if plan.batch is not None else BATCHES
        errors: List[InputError] = []
        for batch, other in sizes:
            try:
                self.typed = self._imported(batch)
                self._other = self.typed if self.fixed else self._imported(other)
            except InputError as error:
                errors.append(error)
                continue
            self.batch, self._other_batch = batch, other
            return
        raise errors[0]

    def constant(self, tensor: str) -> np.ndarray | None:
        """Returns a tensor's value if it follows from shapes and constants alone, at `batch` examples."""
        return self.typed.constants.get(tensor)

    def varies(self, tensor: str) -> bool:
        """Returns whether a constant depends on the size of the batch, as far as two sizes tell."""
        one, two = self.typed.constants.get(tensor), self._other.constants.get(tensor)
        return one is None or two is None or not np.array_equal(one, two)

    def per_example(self, tensor: str) -> float | None:
        """Returns the factor c of a scalar constant that is c times the batch at both sizes, or None."""
        one, two = self.typed.constants.get(tensor), self._other.constants.get(tensor)
        if one is None or two is None or one.shape != () or not self.varies(tensor):
            return None
        factor = float(one) / self.batch
        return factor if float(two) == factor * self._other_batch else None

    def shape(self, tensor: str) -> list[int] | None:
        """Returns a tensor's static shape at `batch` examples; None where it is not fully known."""
        shape = self.typed.graph.get_tensor_by_name(tensor).shape
        return list(shape.as_list()) if shape.is_fully_defined() else None

    def _imported(self, batch: int) -> Typed:
        shapes: Dict[str, Sequence[Optional[int]]] = {}
        for name, feed in self.cut.feeds.items():
            entry = self._inputs.get(str(feed.key)) if feed.kind == "cut" else None
            if entry is not None and entry.kind == "batch" and (entry.shape or entry.example):
                shapes[name] = [batch, *example_sizes(entry)]
        return Typed(self._graph_def, shapes, list(self.loops))


class LoopInside(Forward):
    """The inside of a loop, whose states have the shapes that they start with.

    Args:
      loop: the loop.
      outer: the graph that it is in.
    """

    def __init__(self, loop: Loop, outer: Forward) -> None:
        self.cut, self.loops, self.fixed, self.batch = outer.cut, {}, outer.fixed, outer.batch
        self._other_batch = outer._other_batch if not outer.fixed else outer.batch
        self.typed = _typed_inside(loop, outer.typed)
        self._other = self.typed if outer.fixed else _typed_inside(loop, outer._other)


def _typed_inside(loop: Loop, outer: Typed) -> Typed:
    """Returns the inside of a loop with the shapes and the constants that it is given from outside."""
    inside = v1.GraphDef()
    inside.versions.producer = max(_SCALAR_PLACEHOLDERS, loop.inside.versions.producer)
    shapes: Dict[str, Sequence[Optional[int]]] = {}
    known = {}
    sources = list(zip(loop.states + loop.given, loop.starts + loop.invariants))
    for placeholder, source in sources:
        tensor = outer.graph.get_tensor_by_name(parse_tensor_name(source).name)
        if tensor.shape.rank is not None:
            shapes[placeholder] = tensor.shape.as_list()
        if placeholder in loop.given and tensor.name in outer.constants:
            known[placeholder] = outer.constants[tensor.name]
    for node in loop.inside.node:
        made = inside.node.add()
        made.CopyFrom(node)
        if node.name in known:
            made.op = "Const"
            made.attr["value"].tensor.CopyFrom(v1.make_tensor_proto(known[node.name]))
    return Typed(inside, shapes)


def example_sizes(entry: Input) -> List[int]:
    """Returns the shape of one example of an input; sizes that the graph leaves open are those of made-up data."""
    return list(made_up_shape(entry, BatchSize(1, 1))[1:])


def variable_of(feed: Feed) -> VariableVersion | None:
    """Returns the variable that a feed reads, or None."""
    return feed.key if isinstance(feed.key, VariableVersion) else None
