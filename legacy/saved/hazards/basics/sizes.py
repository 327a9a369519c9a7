"""Numbers of elements that a graph computes from the sizes of its tensors, as of a batch whose size is open."""

from __future__ import annotations

from legacy.saved.facts.basics.whole_graph import WholeGraph

#: Ops that give the sizes of a tensor.
SIZES = ("Shape", "ShapeN", "Size")
#: Ops that hand on parts of their first input.
_PARTS = ("Cast", "ExpandDims", "GatherV2", "Identity", "Prod", "Reshape", "Slice", "Squeeze", "StridedSlice", "Unpack")
_PRODUCTS = ("Mul",)


def is_number_of_elements(whole: WholeGraph, name: str) -> bool:
    """Returns whether a node is a product of sizes of tensors, and of positive constants."""
    todo, found, has_size = [name], set(), False
    while todo:
        node = todo.pop()
        if node in found:
            continue
        found.add(node)
        kind, inputs = whole.graph.type(node), [tensor.node for tensor in whole.graph.inputs(node)]
        if kind in SIZES:
            has_size = True
        elif kind in _PARTS and inputs:
            todo.append(inputs[0])
        elif kind in _PRODUCTS:
            todo += inputs
        else:
            number = whole.value(node) if kind == "Const" else None
            if number is None or number <= 0:
                return False
    return has_size
