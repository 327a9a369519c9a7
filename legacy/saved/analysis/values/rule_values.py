"""The value that an update rule gives a weight, as ops of tensors: the formula of the rule's kernel, term by term."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from workloads.lifted.graph import Graph, TensorId, input_text

v1 = tf.compat.v1


def _gradient_descent(var: tf.Tensor, alpha: tf.Tensor, delta: tf.Tensor) -> tf.Tensor:
    return var - delta * alpha


def _momentum(var: tf.Tensor, accum: tf.Tensor, lr: tf.Tensor, grad: tf.Tensor, momentum: tf.Tensor) -> tf.Tensor:
    return var - (accum * momentum + grad) * lr


def _adam(
    var: tf.Tensor,
    m: tf.Tensor,
    v: tf.Tensor,
    beta1_power: tf.Tensor,
    beta2_power: tf.Tensor,
    lr: tf.Tensor,
    beta1: tf.Tensor,
    beta2: tf.Tensor,
    epsilon: tf.Tensor,
    grad: tf.Tensor,
) -> tf.Tensor:
    rate = lr * tf.sqrt(1 - beta2_power) / (1 - beta1_power)
    m = m + (grad - m) * (1 - beta1)
    v = v + (tf.square(grad) - v) * (1 - beta2)
    return var - (m * rate) / (tf.sqrt(v) + epsilon)


def _rmsprop(
    var: tf.Tensor,
    ms: tf.Tensor,
    mom: tf.Tensor,
    lr: tf.Tensor,
    rho: tf.Tensor,
    momentum: tf.Tensor,
    epsilon: tf.Tensor,
    grad: tf.Tensor,
) -> tf.Tensor:
    ms = ms + (tf.square(grad) - ms) * (1 - rho)
    return var - (mom * momentum + (grad * lr) / tf.sqrt(ms + epsilon))


#: {update rule of dense gradients: its weight's new value, of what the op takes, in the op's order}.
_FORMULAS: Mapping[str, Callable[..., tf.Tensor]] = {
    "ApplyGradientDescent": _gradient_descent,
    "ApplyMomentum": _momentum,
    "ApplyAdam": _adam,
    "ApplyRMSProp": _rmsprop,
}


def has_formula(graph: Graph, change: str) -> bool:
    """Returns whether a change is by an update rule whose formula is known, without Nesterov's variant of it."""
    kind = graph.type(change)
    is_known = _without_resource(kind) in _FORMULAS
    return is_known and not graph.nodes[change].attr["use_nesterov"].b


def value_by_rule(graph: Graph, change: str) -> list[Any]:
    """Makes the nodes that compute a weight's value after its update rule has run.

    Args:
      graph: the graph with the weight.
      change: the update op; see `has_formula`.

    Returns:
      NodeDefs, the value last. They read weight and slots, so that they have to run before the update op.
    """
    node, kind = graph.nodes[change], graph.type(change)
    formula = _FORMULAS[_without_resource(kind)]
    names = list(inspect.signature(formula).parameters)
    states = _states(names)
    given = dict(zip(names, graph.inputs(change)))
    dtype = tf.as_dtype(node.attr["T"].type)
    with tf.Graph().as_default() as made:
        value = formula(**{name: v1.placeholder(dtype, name=name) for name in names})
        found = made.as_graph_def(add_shapes=False).node
    assert found[-1].name == value.op.name
    own = f"{change}/updated"
    result = []
    for one in found:
        is_state = one.name in states
        if one.op == "Placeholder" and not is_state:
            continue
        copy = v1.NodeDef(name=f"{own}/{one.name}", op=one.op, device=node.device)
        if is_state:
            by_handle = kind.startswith("Resource")
            copy.op = "ReadVariableOp" if by_handle else "Identity"
            copy.input.append(input_text(given[one.name]))
            copy.attr["dtype" if by_handle else "T"].type = dtype.as_datatype_enum
        else:
            copy.input.extend(_input(own, name, given, states) for name in one.input)
            for key, attribute in one.attr.items():
                copy.attr[key].CopyFrom(attribute)
        result.append(copy)
    return result


def _input(own: str, name: str, given: Mapping[str, TensorId], states: set[str]) -> str:
    """The input of a formula's node: another node of it, or what the update op takes."""
    return input_text(given[name]) if name in given and name not in states else f"{own}/{name}"


def _states(names: list[str]) -> set[str]:
    """The weight and its slots, of what an update rule takes."""
    return {"var", "accum", "m", "v", "ms", "mom"} & set(names)


def _without_resource(kind: str) -> str:
    return kind[len("Resource") :] if kind.startswith("Resource") else kind
