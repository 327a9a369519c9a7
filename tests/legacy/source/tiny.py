"""Forward passes of a few ops: the text that is written for them, and the values that this text computes."""

import numpy as np
import tensorflow as tf

from legacy.source.basics.cut import Cut
from legacy.source.basics.expressions import Definition, Item, Name
from legacy.source.basics.forward import Forward
from legacy.source.definitions.input_values import Names
from legacy.source.definitions.recovery import Recovery
from legacy.source.functions.function_lines import function_lines
from legacy.source.lines.statements import build_statements
from workloads.lifted.pieces.piece import Feed, Piece, VariableVersion
from workloads.lifted.plan import Input, Plan

v1 = tf.compat.v1
BATCH = 4


def plan_of(inputs, batch=None):
    """A plan with some inputs, {name: shape of an example}, of float32."""
    entries = [
        Input(name, "float32", [None, *shape], "batch", 0, [name + ":0"], name) for name, shape in inputs.items()
    ]
    return Plan("tiny", 1, "name", batch, entries, [], [], [], [], {}, {}, {}, [])


def recovered(build, inputs=None, variables=None, batch=None):
    """(recovery, its ends): what `build` computes from {input: shape of an example} and {variable: shape}."""
    inputs, variables = inputs or {}, variables or {}
    with tf.Graph().as_default() as graph:
        given = {name: v1.placeholder(tf.float32, [None, *shape], name) for name, shape in inputs.items()}
        given.update({name: v1.placeholder(tf.float32, shape, name) for name, shape in variables.items()})
        results = build(**given)
        results = results if isinstance(results, (list, tuple)) else [results]
    feeds = {name: Feed("cut", name + ":0", name) for name in inputs}
    feeds.update({name: Feed("read", VariableVersion(name, 0), name) for name in variables})
    cut = Cut(Piece(graph.as_graph_def(), list(feeds.values()), []), feeds, [])
    names = Names({name + ":0": Item(Name("batch"), f'"{name}"') for name in inputs}, {}, set(variables), {})
    recovery = Recovery(Forward(cut, plan_of(inputs, batch)), names)
    return recovery, [recovery.expression_of(result.name) for result in results]


def written(build, inputs=None, variables=None, batch=None):
    """The lines of the function that computes what `build` does, without signature and docstring."""
    recovery, (end,) = recovered(build, inputs, variables, batch)
    statements = build_statements([*recovery.ordered([end]), Definition((), end)])
    first = next(iter(inputs or {}), "")
    lines = function_lines("f(scope, batch)", "", statements, recovery.shape, {}, f'batch["{first}"]')
    return [line.strip() for line in lines[2:]]


def values_of(lines, given):
    """What the lines of a function compute from {input or variable: array}."""
    return computed(lines, given).numpy()


def computed(lines, given):
    """The tensor that the lines of a function compute from {input or variable: array}, in the graph at hand if any."""

    class Scope:
        def get(self, name, shape, initializer=None, trainable=True):
            assert np.shape(given[name]) == tuple(shape)
            return tf.constant(given[name])

    text = "\n    ".join(["def f(scope, batch):", *lines])
    space = {"tf": tf}
    exec(text, space)
    return space["f"](Scope(), {name: tf.constant(value) for name, value in given.items()})
