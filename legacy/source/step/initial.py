"""Initializers of the variables, recognised in the graph's own initialization ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

import numpy as np
import tensorflow as tf

from legacy.source.basics.rendering import literal_text
from workloads.initializers import fans

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Plan, Variable

_ASSIGNS = ("Assign", "AssignVariableOp")
_COPIES = ("Identity", "Cast")
_FILLED = {"ZEROS": 0.0, "ONES": 1.0}
#: Relative difference within which a limit is Glorot's.
_NEAR = 1e-5


def find_initializers(whole: Graph, variables: Sequence[Variable]) -> Tuple[Dict[str, str], List[str]]:
    """Finds the initializers of some variables.

    Args:
      whole: the whole graph, with the ops that initialize.
      variables: the variables.

    Returns:
      {variable: text of the initializer, "" for the default}, and the names of the variables whose initializer is not
      known here, which get the default.
    """
    texts: Dict[str, str] = {}
    unknown: List[str] = []
    for variable in variables:
        text = _text(whole, variable)
        if text is None:
            unknown.append(variable.name)
        texts[variable.name] = text or ""
    return texts, unknown


def first_values(
    variables: Sequence[Variable], initializers: Mapping[str, str], initial: Mapping[str, np.ndarray]
) -> Dict[str, float]:
    """Returns the numbers that variables start from which are filled with one.

    Args:
      variables: the variables.
      initializers: {variable: text of its initializer}.
      initial: {variable: value at hand}, which tells it where the initializer is not known.

    Returns:
      {variable: number}; 0 for one that starts from several.
    """
    found: Dict[str, float] = {}
    for variable in variables:
        text = initializers.get(variable.name, "")
        value = np.ravel(initial.get(variable.name, np.zeros(1)))
        if text in _FILLED:
            found[variable.name] = _FILLED[text]
        elif text.startswith("initializers.Constant("):
            found[variable.name] = float(text[len("initializers.Constant(") : -1])
        else:
            found[variable.name] = float(value[0]) if value.size and (value == value[0]).all() else 0.0
    return found


def held_scalars(plan: Plan, initial: Mapping[str, np.ndarray]) -> Dict[str, np.ndarray]:
    """Returns {variable: value at hand} of the float scalars that no train op changes, such as a learning rate."""
    changed = {name for phase in plan.phases for effect in phase.effects for name in effect.writes}
    held = [v.name for v in plan.variables if v.role != "weight" and v.dtype == "float32" and not v.shape and not v.of]
    return {name: initial[name] for name in held if name in initial and name not in changed}


def _text(whole: Graph, variable: Variable) -> Optional[str]:
    if variable.name not in whole.nodes:
        return None
    assigns = [u.node for u in whole.users(variable.name) if u.position == 0 and whole.type(u.node) in _ASSIGNS]
    own = [node for node in assigns if node.startswith(variable.name)] or assigns
    if not own:
        return None
    return _draws(whole, whole.inputs(own[0])[1].node, list(variable.shape))


def _draws(whole: Graph, node: str, shape: List[int]) -> Optional[str]:
    """Returns the text of the initializer whose value a node computes."""
    while whole.type(node) in _COPIES:
        node = whole.inputs(node)[0].node
    kind = whole.type(node)
    if kind == "Const":
        value = _constant(whole, node)
        filled = value is not None and value.size and (value == value.flat[0]).all()
        return _filled(value.flat[0]) if value is not None and filled else None
    if kind == "Fill":
        value = _constant(whole, whole.inputs(node)[1].node)
        return None if value is None else _filled(value[()])
    if kind in ("Add", "AddV2"):
        return _scaled(whole, node, shape)
    return None


def _filled(value: Any) -> str:
    return {0.0: "ZEROS", 1.0: "ONES"}.get(float(value)) or f"initializers.Constant({literal_text(value)})"


def _scaled(whole: Graph, node: str, shape: List[int]) -> Optional[str]:
    """Returns the text of `random * scale + offset`."""
    product, offset = (tensor.node for tensor in whole.inputs(node))
    shift = _constant(whole, offset)
    if whole.type(product) != "Mul" or shift is None or shift.shape != ():
        return None
    random, factor = (tensor.node for tensor in whole.inputs(product))
    kind = whole.type(random)
    if kind == "TruncatedNormal" and float(shift) == 0.0:
        scale = _constant(whole, factor)
        return None if scale is None else f"initializers.TruncatedNormal({literal_text(scale[()])})"
    if kind == "RandomUniform" and whole.type(factor) == "Sub":
        high, low = (_constant(whole, tensor.node) for tensor in whole.inputs(factor))
        if high is None or low is None:
            return None
        fan_in, fan_out = fans(shape)
        glorot = float(np.sqrt(6.0 / (fan_in + fan_out)))
        if abs(float(high) - glorot) < _NEAR * glorot and abs(float(low) + glorot) < _NEAR * glorot:
            return ""
    return None


def _constant(whole: Graph, node: str) -> Optional[np.ndarray]:
    while whole.type(node) == "Identity":
        node = whole.inputs(node)[0].node
    if whole.type(node) != "Const":
        return None
    return np.asarray(tf.make_ndarray(whole.nodes[node].attr["value"].tensor))
