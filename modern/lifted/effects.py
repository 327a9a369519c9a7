"""Changes of a replica's variables by the same ops by which the old graph changed its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from workloads.lifted.plan import Effect
from workloads.support.errors import InputError

#: Ops that change reference variables, whose resource twins have other names; the others' twins begin with "Resource".
TWINS = {
    "Assign": "AssignVariableOp",
    "AssignAdd": "AssignAddVariableOp",
    "AssignSub": "AssignSubVariableOp",
}


def apply_effect(
    effect: Effect, node: Any, variables: Mapping[str, tf.Variable], arguments: Sequence[tf.Tensor]
) -> None:
    """Adds the op that changes a replica's variables as `effect` changed the old graph's.

    Args:
      effect: the effect.
      node: its NodeDef, for the op's attributes.
      variables: {name: the replica's variable}.
      arguments: values of the effect's other inputs, in order.

    Raises:
      InputError: the effect's op type has no twin for resource variables.
    """
    name = effect.op
    if not name.startswith("Resource") and name not in TWINS.values():
        name = TWINS.get(name, "Resource" + name)
    op = getattr(tf.raw_ops, name, None)
    if op is None:
        raise InputError(f"lift: {effect.node} ({effect.op}) changes variables in a way that has no resource twin")
    names = list(inspect.signature(op).parameters)
    given = [variables[variable].handle for variable in effect.writes] + list(arguments)
    keywords = dict(zip(names, given))
    for attribute in names[len(given) :]:
        if attribute in node.attr and attribute not in ("use_locking", "name"):
            keywords[attribute] = _plain_value(node.attr[attribute])
    op(**keywords)


def run_in_branch(predicate: tf.Tensor, branch: bool, run: Callable[[], None]) -> None:
    """Runs an effect in one branch of a `cond`, as the old graph did.

    Args:
      predicate: boolean scalar.
      branch: the value of `predicate` with which the effect is run.
      run: adds the effect's op.
    """

    def change() -> tf.Tensor:
        run()
        return tf.constant(True)

    def leave() -> tf.Tensor:
        return tf.constant(False)

    tf.cond(predicate, change if branch else leave, leave if branch else change)


def _plain_value(attribute: Any) -> Any:
    return getattr(attribute, attribute.WhichOneof("value"))
