"""Random numbers of a lifted program: each random op of each replica has a stream of its own.

The old graph and the port both draw with the same stateless ops and keys, and so get the same numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import tensorflow as tf

from workloads.lifted.graph.edits import add_constant
from workloads.numerics import random_keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workloads.lifted.plan import LoopCounter, Plan

v1 = tf.compat.v1

#: Random ops and the stateless ops that replace them, which take a key besides.
TWINS = {
    "RandomUniform": "StatelessRandomUniform",
    "RandomStandardNormal": "StatelessRandomNormal",
    "TruncatedNormal": "StatelessTruncatedNormal",
    "RandomUniformInt": "StatelessRandomUniformInt",
    "Multinomial": "StatelessMultinomial",
}


class RandomNode(NamedTuple):
    """One random op of a plan, and the stream that it draws from.

    Attributes:
      node: name of the op.
      tower: number of the tower that draws; None if the op is run once for all towers.
      stream: name of the stream: `plan.Noise.name`.
    """

    node: str
    tower: int | None
    stream: str


def noise_key(seed: int, replica: int | None, stream: str) -> int:
    """Returns the key of a noise stream.

    Args:
      seed: the job's seed.
      replica: number of the replica; None for noise that is drawn once for all.
      stream: name of the stream.

    Returns:
      A non-negative int32.
    """
    return random_keys.noise_key(seed, "all" if replica is None else replica, stream)


def noise_input(stream: str, output: int) -> str:
    """Returns the name that a batch gives to the recorded numbers of a random op's output.

    >>> noise_input("dropout/random_uniform", 0)
    'noise/dropout/random_uniform/0'
    """
    return f"noise/{stream}/{output}"


def keyed_nodes(plan: Plan) -> list[RandomNode]:
    """Returns the random ops of a plan that draw by key."""
    towers = [RandomNode(n, t, e.name) for e in plan.noise if e.how == "keyed" for t, n in enumerate(e.nodes) if n]
    return towers + [RandomNode(e.nodes[0], None, e.name) for e in plan.common_noise if e.how == "keyed" and e.nodes[0]]


def drawn_nodes(plan: Plan) -> list[str]:
    """Returns the random nodes whose numbers can be given instead of drawn: those outside of loops."""
    return [node for entry in plan.noise + plan.common_noise if not entry.in_loop for node in entry.nodes if node]


def loop_counters(plan: Plan) -> dict[str, LoopCounter]:
    """Returns {random node: its loop's counter} of the nodes that have another key in each iteration."""
    return {node: loop for entry in plan.noise + plan.common_noise for node, loop in entry.loops.items()}


def fix_seed(node: Any) -> None:
    """Gives a random NodeDef without a stateless twin seeds made from its name: both sides draw the same sequence."""
    node.attr["seed"].i = 1 + (random_keys.noise_key(1, 0, node.name) >> 1)
    node.attr["seed2"].i = 1 + (random_keys.noise_key(2, 0, node.name) >> 1)


def use_twin(node: Any, key: str) -> None:
    """Turns a random NodeDef into its stateless twin, with the key from the tensor called `key`."""
    dtype = node.attr["dtype"].type or node.attr["Tout"].type
    place = len(node.input) if node.op == "Multinomial" else 1
    attributes = {"Tseed": tf.int32.as_datatype_enum, "T": node.attr["T"].type}
    attributes["output_dtype" if node.op == "Multinomial" else "dtype"] = dtype or node.attr["output_dtype"].type or 9
    inputs = list(node.input)
    retype(node, TWINS[node.op], attributes)
    node.input[:] = [*inputs[:place], key, *inputs[place:]]


def add_iteration_key(graph_def: Any, name: str, key: str, frame: str, counter: str) -> str:
    """Adds nodes that make a key for each iteration of a `while` loop.

    Args:
      graph_def: the GraphDef that they are added to.
      name: name of the random node.
      key: name of the tensor of the node's key, outside the loop.
      frame: name of the loop's frame.
      counter: name of the int32 scalar that counts iterations, inside the loop.

    Returns:
      The name of the iteration's key: `key` plus `random_keys.KEY_STRIDE` for each iteration so far, int32 [2].
    """
    number = tf.int32.as_datatype_enum
    stride = add_constant(graph_def, name + "/turn", np.full(2, random_keys.KEY_STRIDE, np.int32))
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


def retype(node: Any, op: str, types: Mapping[str, int]) -> None:
    """Turns a NodeDef into another op whose only attributes are types.

    Args:
      node: the NodeDef; keeps its name and inputs.
      op: the new op type.
      types: {attribute: DataType number}.
    """
    node.op = op
    for name in list(node.attr):
        del node.attr[name]
    for name, dtype in types.items():
        node.attr[name].type = dtype
