"""Hazard of a loss that rises with small errors, and falls without end with large ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.signs.element_functions import element_values
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Errors at which a loss is evaluated: none, small ones, and two large ones of each sign.
_ERRORS = np.array([0.0, -1e-2, 1e-2, -1e4, -1e6, 1e4, 1e6])
#: Below this a loss has fallen far.
_FAR = -1e2
_PASSES = ("Cast", "ExpandDims", "Identity", "Reshape", "Squeeze", "StridedSlice", "Transpose")


def losses_of_large_errors(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses with a minimum where an error is 0 that are unbounded below elsewhere; one hazard for all.

    So is smooth L1 whose linear part has the wrong sign, or is of the error and not of its absolute value.
    """
    graph = whole.graph
    signs = {target: linear_signs(whole, target) for target in whole.targets if target in minimized_targets(whole)}
    for error in [name for name in whole.minimized_ops("Sub") if not is_gradient_op(name) and _is_error(whole, name)]:
        values = element_values(whole, TensorId(error, 0), _ERRORS)
        for name, found in values.items():
            users = {use.node for use in graph.users(name) if use.node in whole.minimized}
            if all(user in values or is_gradient_op(user) for user in users) or not gradient_flow(whole).passes(name):
                continue
            for target, own in signs.items():
                sign = own.get(name, 0)
                side = _falling_side(found * sign) if sign else ""  # infinite ones times 0 are no numbers
                if side:
                    yield Hazard(
                        "LOSS_WITHOUT_BOUND",
                        name,
                        f"{name}, in {target}, is least where the error {error} is 0 among small ones, and falls "
                        f"without end where it is {side}",
                        "check the sign of the part for large errors, and that it takes their absolute value; for "
                        "parity keep it",
                    )
                    return


def _is_error(whole: WholeGraph, name: str) -> bool:
    """Whether a difference is that of data and a layer's results without an activation."""
    inputs = [tensor.node for tensor in whole.graph.inputs(name)]
    return name in whole.data and any(_is_layer(whole, node) for node in inputs)


def _is_layer(whole: WholeGraph, name: str) -> bool:
    """Whether a node has results of a product with trained weights, to which a bias may be added."""
    graph = whole.graph
    while graph.type(name) in _PASSES:
        name = graph.inputs(name)[0].node
    if graph.type(name) in ("BiasAdd", "Add", "AddV2"):
        return any(_is_layer(whole, tensor.node) for tensor in graph.inputs(name))
    is_product = graph.type(name) in (*op_types.MATRIX_PRODUCTS, "Conv2D", "Conv3D")
    return is_product and bool(graph.ancestors([name], controls=False) & whole.trainable)


def _falling_side(values: np.ndarray) -> str:
    """The large errors at which values fall without end although the least of small ones is at 0; "" if there are none.

    >>> squares = _ERRORS**2 / 2
    >>> _falling_side(squares), _falling_side(np.where(abs(_ERRORS) < 1, squares, -abs(_ERRORS)))
    ('', 'large')
    >>> _falling_side(np.where(abs(_ERRORS) < 1, squares, _ERRORS)), _falling_side(_ERRORS)
    ('negative and large', '')
    """
    zero, below, above, *far = values.tolist()
    if not (below > zero and above > zero):
        return ""
    falls = [end < start < _FAR for start, end in (far[:2], far[2:])]
    return "large" if all(falls) else "negative and large" if falls[0] else "positive and large" if falls[1] else ""
