"""A lifted program's random numbers: one stream for each random op of each replica, drawn by stateless twins.

Both sides draw with the same twins and keys, and so the same numbers.
"""

from __future__ import annotations

import tensorflow as tf

from workloads.numerics import random_keys

v1 = tf.compat.v1

#: Random ops and their stateless twins, which take a key besides.
TWINS = {
    "RandomUniform": "StatelessRandomUniform",
    "RandomStandardNormal": "StatelessRandomNormal",
    "TruncatedNormal": "StatelessTruncatedNormal",
    "RandomUniformInt": "StatelessRandomUniformInt",
    "Multinomial": "StatelessMultinomial",
}
#: Between the keys of a loop's turns.
TURN = 7919


def key_of(seed, replica, name):
    """int32 key of the noise called `name` on a replica; `replica` is None for noise that is drawn once for all."""
    return random_keys.noise_key(seed, "all" if replica is None else replica, name)


def drawn_nodes(plan):
    """Random nodes whose numbers can be given instead of drawn: those outside of loops."""
    return [node for entry in plan.noise + plan.common_noise if not entry.in_loop for node in entry.nodes if node]


def loops_of(plan):
    """{random node: [frame's name, counter's tensor]} of those that draw in each turn of a loop by a key of its own."""
    return {node: loop for entry in plan.noise + plan.common_noise for node, loop in entry.loops.items()}


def seed(node):
    """Gives a random NodeDef without a twin seeds made from its name: both sides then draw the same sequence."""
    node.attr["seed"].i = 1 + (random_keys.noise_key(1, 0, node.name) >> 1)
    node.attr["seed2"].i = 1 + (random_keys.noise_key(2, 0, node.name) >> 1)


def use_twin(node, key):
    """Turns a random NodeDef into its stateless twin, with the key from the tensor called `key`."""
    dtype = node.attr["dtype"].type or node.attr["Tout"].type
    place = len(node.input) if node.op == "Multinomial" else 1
    attributes = {"Tseed": tf.int32.as_datatype_enum, "T": node.attr["T"].type}
    attributes["output_dtype" if node.op == "Multinomial" else "dtype"] = dtype or node.attr["output_dtype"].type or 9
    inputs = list(node.input)
    become(node, TWINS[node.op], attributes)
    del node.input[:]
    node.input.extend(inputs[:place] + [key] + inputs[place:])


def count_turns(graph_def, name, key, frame, counter):
    """Adds nodes that make a key for each turn of a loop.

    Args:
      graph_def: where they go.
      name: of the random node.
      key: of the loop's key, outside.
      frame: the loop's frame.
      counter: name of an int32 scalar that counts turns, inside.

    Returns:
      name of the turn's key: the loop's plus `TURN` for each turn so far, int32 [2].
    """
    number = tf.int32.as_datatype_enum
    stride = graph_def.node.add(name=name + "/turn", op="Const")
    stride.attr["dtype"].type = number
    stride.attr["value"].tensor.CopyFrom(v1.make_tensor_proto(TURN, tf.int32, [2]))
    for source, entered in ((key, name + "/key_in"), (stride.name, name + "/turn_in")):
        enter = graph_def.node.add(name=entered, op="Enter", input=[source])
        enter.attr["T"].type = number
        enter.attr["frame_name"].s = frame.encode("utf-8")
        enter.attr["is_constant"].b = True
        enter.attr["parallel_iterations"].i = 10
    product = graph_def.node.add(name=name + "/turns", op="Mul", input=[name + "/turn_in", counter])
    total = graph_def.node.add(name=name + "/turn_key", op="Add", input=[name + "/key_in", product.name])
    product.attr["T"].type = total.attr["T"].type = number
    return total.name


def become(node, op, types):
    """Turns a NodeDef into another op, with nothing but type attributes: {name: DataType number}."""
    node.op = op
    for name in list(node.attr):
        del node.attr[name]
    for name, dtype in types.items():
        node.attr[name].type = dtype
