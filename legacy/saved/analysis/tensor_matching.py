"""Which tensor of one tower is which of another: walks both back from their ends, op by op."""

from __future__ import annotations

#: Attributes that differ between equal towers: placement, bookkeeping, and where a random stream starts.
PLACEMENT = (
    "_class",
    "_output_shapes",
    "seed",
    "seed2",
    "container",
    "shared_name",
    "frame_name",
    "stack_name",
    "tensor_array_name",
    "source",
)


class Match:
    """
    Attributes:
      cuts: {tensor of the first tower: tensor of the other} where data enter.
      random: {random node of the first: of the other}.
      differences: [text] where the towers are not the same.
    """

    def __init__(self):
        self.cuts = {}
        self.random = {}
        self.differences = []


def match(graph, pairs, cuts, random):
    """The `Match` of two towers.

    Args:
      pairs: [(tensor of the first, tensor of the other)] that are known to correspond; a tensor is (node, output).
      cuts: set of tensors, of either tower, where data enter.
      random: set of random nodes.
    """
    result, seen, todo = Match(), set(), list(reversed(pairs))
    while todo:
        first, other = todo.pop()
        if (first, other) in seen:
            continue
        seen.add((first, other))
        if first in cuts and other in cuts:
            result.cuts.setdefault(first, other)
            continue
        if first[0] == other[0]:  # computed once for both
            continue
        if first[1] != other[1] or not _same(graph, first[0], other[0]):
            result.differences.append(f"{_show(graph, first[0])} against {_show(graph, other[0])}")
            continue
        if first[0] in random:
            result.random.setdefault(first[0], other[0])
        inputs, others = graph.inputs(first[0]), graph.inputs(other[0])
        if len(inputs) != len(others):
            result.differences.append(f"{first[0]} takes {len(inputs)} inputs, {other[0]} {len(others)}")
        todo += reversed(list(zip(inputs, others)))
    return result


def _same(graph, first, other):
    """Whether two nodes are the same op with the same attributes."""
    one, two = graph.nodes[first], graph.nodes[other]
    if one.op != two.op:
        return False
    names = (set(one.attr) | set(two.attr)) - set(PLACEMENT)
    return all(name in one.attr and name in two.attr and one.attr[name] == two.attr[name] for name in names)


def _show(graph, name):
    return f"{name} ({graph.type(name)})"
