"""One change of variables as a call: an assignment, or the kernel of 1.x's optimizer."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Dict, Sequence

import tensorflow as tf

from legacy.source.basics.expressions import Argument, Call, Expression, Literal, Method, Name, as_expression, call
from legacy.source.basics.rendering import literal_text
from legacy.source.basics.unwritten import Unwritten
from legacy.source.update.changes import adam_of_rows

if TYPE_CHECKING:
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Effect

#: {op that sets a variable: method of a variable that does the same}.
METHODS = {
    "Assign": "assign",
    "AssignVariableOp": "assign",
    "AssignAdd": "assign_add",
    "AssignAddVariableOp": "assign_add",
    "AssignSub": "assign_sub",
    "AssignSubVariableOp": "assign_sub",
}
#: Attributes that say nothing about what is computed.
_LEFT_OUT = ("use_locking", "name")


def local(variable: str) -> Name:
    """Returns the text of a replica's own copy of a variable."""
    return Name(f"variables[{literal_text(variable)}]")


def change_call(graph: Graph, effect: Effect, values: Sequence[Expression]) -> Expression:
    """Returns the call that changes variables as an effect does.

    Args:
      graph: of the lift.
      effect: the effect.
      values: expressions of its `values`.

    Returns:
      The call.

    Raises:
      Unwritten: TensorFlow 2 has no such op.
    """
    if effect.op in METHODS:
        variable = local(effect.writes[0])
        is_empty = _is_empty(graph, effect.writes[0], values[0])
        value = call("tf.zeros_like", variable) if is_empty else values[0]
        return Method(variable, METHODS[effect.op], (value,))
    if effect.op == adam_of_rows.OP:
        return adam_of_rows.adam_call([*map(local, effect.writes), *values])
    kind = effect.op if effect.op.startswith("Resource") else "Resource" + effect.op
    function = getattr(tf.raw_ops, kind, None)
    if function is None:
        raise Unwritten(f"updates: {effect.node!r} ({effect.op}) has no op in TensorFlow 2")
    parameters = list(inspect.signature(function).parameters)
    given: list[Any] = [Name(local(name).text + ".handle") for name in effect.writes] + list(values)
    arguments = [Argument(name, value) for name, value in zip(parameters, given)]
    found = graph.nodes[effect.node].attr
    for name in parameters[len(given) :]:
        if name in found and name not in _LEFT_OUT:
            value = getattr(found[name], found[name].WhichOneof("value"))
            if value != _defaults(kind).get(name):
                arguments.append(Argument(name, as_expression(value)))
    return Call("tf.raw_ops." + kind, tuple(arguments))


def _is_empty(graph: Graph, variable: str, value: Expression) -> bool:
    """Returns whether a value is zeros in a variable's constant shape, as it is set back."""
    if not isinstance(value, Call) or value.function != "tf.zeros":
        return False
    shape = value.arguments[0].value
    sizes = [dim.size for dim in graph.nodes[variable].attr["shape"].shape.dim]
    return isinstance(shape, Literal) and list(shape.value) == sizes


def _defaults(kind: str) -> Dict[str, Any]:
    """Returns {attribute: default} of an op."""
    parameters = inspect.signature(getattr(tf.raw_ops, kind)).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters}
