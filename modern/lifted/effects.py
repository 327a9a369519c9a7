"""Changes of a replica's variables, as the old graph changed its own."""

from __future__ import annotations

import inspect

import tensorflow as tf

from workloads.support.errors import InputError

#: Changes of reference variables whose resource twin has another name; the others are called "Resource..." for "...".
TWINS = {
    "Assign": "AssignVariableOp",
    "AssignAdd": "AssignAddVariableOp",
    "AssignSub": "AssignSubVariableOp",
}


def emit(effect, node, variables, arguments):
    """Adds the op that changes a replica's variables as `effect` changed the old ones."""
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
            keywords[attribute] = _plain(node.attr[attribute])
    op(**keywords)


def run_if(predicate, branch, run):
    """Runs an effect in one branch of a `cond`, as the old graph did."""

    def change():
        run()
        return tf.constant(True)

    def leave():
        return tf.constant(False)

    tf.cond(predicate, change if branch else leave, leave if branch else change)


def _plain(attribute):
    return getattr(attribute, attribute.WhichOneof("value"))
