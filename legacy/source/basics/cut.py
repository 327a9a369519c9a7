"""Parts of a lift's graph that are to be written: what is cut out, and what enters them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Sequence, Set

import tensorflow as tf

from workloads.lifted.graph import CONTROL_FLOW, Graph, parse_tensor_name
from workloads.lifted.graph.edits import add_constant
from workloads.lifted.graph.tensor_names import control_inputs, data_inputs
from workloads.lifted.made_up_data import OPEN, BatchSize, made_up_shape
from workloads.lifted.pieces.cutter import Cutter
from workloads.lifted.pieces.noise import loop_counters
from workloads.lifted.pieces.piece import VariableVersion
from workloads.lifted.plan import TensorType

if TYPE_CHECKING:
    from workloads.lifted.pieces.piece import Feed, Fetch, Piece
    from workloads.lifted.plan import Condition, Input, Plan, ReadVersion

v1 = tf.compat.v1
#: Random op that draws by logits.
DRAWS_CLASSES = "Multinomial"


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
    """Returns a cutter of a lift's graph that makes random numbers inputs.

    Those in loops stay keyed, or seeded, and so do classes, which are drawn by what the part computes.
    """
    entries = plan.noise + plan.common_noise
    computed = {entry.name: entry.in_loop or entry.how == "seeded" or entry.op == DRAWS_CLASSES for entry in entries}
    kinds = {entry.name: entry.how if computed[entry.name] else "drawn" for entry in entries}
    random = {node: kinds[entry.name] for entry in entries for node in entry.nodes if node}
    variables = {v.name: TensorType(v.dtype, list(v.shape)) for v in plan.variables}
    return Cutter(graph, plan.aliases, variables, plan.tensors.__getitem__, random, loop_counters(plan))


def cut_part(
    plan: Plan,
    graph: Graph,
    fetches: Sequence[str | Fetch],
    cuts: Sequence[str],
    versions: Sequence[ReadVersion] = (),
    taken: Sequence[Condition] = (),
) -> Cut:
    """Cuts a part out of a lift's graph.

    Args:
      plan: of the lift.
      graph: of the lift.
      fetches: the tensors that it computes.
      cuts: the tensors that are given.
      versions: the reads that see a variable after the step has changed it.
      taken: branches of `cond`s that the part is in; it has no predicate of theirs.

    Returns:
      The part.
    """
    cutter = cutter_of(plan, graph)

    def cut(ends: Sequence[str | Fetch]) -> Piece:
        piece = cutter.piece(ends, cuts, versions, taken)
        return without_predicates(piece) if taken else piece

    piece = cut(fetches)
    drawn = [str(feed.key) for feed in piece.feeds if feed.kind == "drawn"]
    drawn = [tensor for tensor in drawn if _is_open(plan.tensors[tensor])]
    sizes = [graph.inputs(parse_tensor_name(tensor).node)[0].name for tensor in drawn]
    if sizes:
        piece = cut([*fetches, *sizes])
    shapes = dict(zip(drawn, piece.fetches[len(fetches) :]))
    feeds = {feed.placeholder: feed for feed in piece.feeds}
    known = {name: shapes[str(feed.key)] for name, feed in feeds.items() if str(feed.key) in shapes}
    return Cut(piece, feeds, list(piece.fetches[: len(fetches)]), known)


def _is_open(tensor: TensorType) -> bool:
    """Returns whether the graph leaves sizes of a tensor open; those of a scalar are known."""
    return tensor.shape is None or None in tensor.shape


def without_predicates(piece: Piece) -> Piece:
    """Returns a part of a branch without what decides that the branch is taken, which nodes wait for there.

    Only a control edge from within a branch or a loop of the part itself means anything.
    """
    nodes = {node.name: node for node in piece.graph_def.node}
    index = Graph(piece.graph_def)
    inside = index.frames() | index.branches() | {name for name, node in nodes.items() if node.op in CONTROL_FLOW}
    result = v1.GraphDef(versions=piece.graph_def.versions, library=piece.graph_def.library)
    todo = [parse_tensor_name(name).node for name in piece.fetches]
    seen: Set[str] = set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        node = result.node.add()
        node.CopyFrom(nodes[name])
        node.input[:] = [*data_inputs(node), *(text for text in control_inputs(node) if text[1:] in inside)]
        todo += [parse_tensor_name(text.lstrip("^")).node for text in node.input]
    return piece._replace(graph_def=result, feeds=[feed for feed in piece.feeds if feed.placeholder in seen])


def with_noise_shapes(cut: Cut) -> Any:
    """Returns a part's GraphDef with random ops for random numbers whose shape follows from other tensors."""
    graph_def = v1.GraphDef()
    graph_def.CopyFrom(cut.piece.graph_def)
    for node in [node for node in graph_def.node if node.name in cut.noise_shapes]:
        node.op = "RandomUniform"
        node.input.append(cut.noise_shapes[node.name])
        node.attr["T"].type = tf.int32.as_datatype_enum
        del node.attr["shape"]
        if tf.as_dtype(node.attr["dtype"].type).is_integer:
            _draw_integers(node, graph_def)
    return graph_def


def _draw_integers(node: Any, graph_def: Any) -> None:
    """Makes a random op one that draws integers; the bounds are any, since only its shape is asked for."""
    dtype = node.attr["dtype"].type
    bound = add_constant(graph_def, node.name + "/bound", 1, dtype)
    node.op = "RandomUniformInt"
    node.input.extend([bound.name, bound.name])
    node.attr["Tout"].type = dtype
    del node.attr["dtype"]


def example_sizes(entry: Input, batch: Optional[int] = None) -> List[int]:
    """Returns the shape of one example of an input; sizes that the graph leaves open are those of made-up data.

    Args:
      entry: the input.
      batch: examples of a tower, of which a sequence that a tower gets whole, time first, has as many; None if no
        number is needed.
    """
    rows = OPEN if entry.kind == "whole" else 1  # of a table that a tower gets whole
    if entry.kind == "whole" and batch and None in (entry.example or []):  # a size that was tried, and is the batch's
        rows = batch
    sizes = made_up_shape(entry, BatchSize(rows, 1))
    return list(sizes if entry.is_copied else sizes[1:])


def variable_of(feed: Feed) -> VariableVersion | None:
    """Returns the variable that a feed reads, or None."""
    return feed.key if isinstance(feed.key, VariableVersion) else None
