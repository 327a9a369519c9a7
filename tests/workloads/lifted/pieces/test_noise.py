"""Random numbers of lifted programs: keys, and the stateless ops that replace random ones."""

from __future__ import annotations

import doctest

import numpy as np
import tensorflow as tf

from tests.small_lift import small_plan
from workloads.lifted.pieces import noise
from workloads.lifted.plan import LoopCounter, Noise
from workloads.numerics import random_keys

v1 = tf.compat.v1


def plan_with_noise():
    plan = small_plan()
    loop = LoopCounter("while", "turn:0")
    plan.noise = [
        Noise("drop", "RandomUniform", "keyed", ["drop", "drop_1"]),
        Noise("shuffle", "RandomShuffle", "seeded", ["shuffle", None]),
        Noise("inner", "RandomUniform", "keyed", ["inner", None], True, {"inner": loop}),
    ]
    plan.common_noise = [Noise("all", "RandomUniform", "keyed", ["all"])]
    return plan


def test_each_replica_and_stream_has_a_key_of_its_own():
    keys = [noise.noise_key(0, replica, stream) for replica in (None, 0, 1) for stream in ("a", "b")]
    assert len(set(keys)) == 6 and all(0 <= key < 2**31 for key in keys)
    assert keys[0] == noise.noise_key(0, None, "a") != noise.noise_key(1, None, "a")


def test_random_nodes_are_listed_by_how_they_draw():
    plan = plan_with_noise()
    assert noise.keyed_nodes(plan) == [
        ("drop", 0, "drop"),
        ("drop_1", 1, "drop"),
        ("inner", 0, "inner"),
        ("all", None, "all"),
    ]
    assert noise.drawn_nodes(plan) == ["drop", "drop_1", "shuffle", "all"]
    assert noise.loop_counters(plan) == {"inner": LoopCounter("while", "turn:0")}
    assert noise.noise_input("drop", 1) == "noise/drop/1"


def random_node(build):
    with tf.Graph().as_default() as graph:
        name = build().op.name
    return next(node for node in graph.as_graph_def().node if node.name == name)


def test_a_twin_takes_the_key_after_the_shape_and_keeps_the_types():
    node = random_node(lambda: v1.random_uniform([2], dtype=tf.float64))
    twin = v1.NodeDef()
    twin.CopyFrom(node)
    if twin.op != "RandomUniform":  # random_uniform may scale what it draws
        node.op = twin.op = "RandomUniform"
    noise.use_twin(twin, "key")
    assert (twin.op, list(twin.input)[1]) == ("StatelessRandomUniform", "key")
    assert {name: value.type for name, value in twin.attr.items()} == {
        "T": tf.int32.as_datatype_enum,
        "Tseed": tf.int32.as_datatype_enum,
        "dtype": tf.float64.as_datatype_enum,
    }


def test_the_twin_of_a_choice_takes_the_key_last():
    node = v1.NodeDef(name="m", op="Multinomial", input=["logits", "count"])
    node.attr["T"].type = tf.float32.as_datatype_enum
    noise.use_twin(node, "key")
    assert (node.op, list(node.input)) == ("StatelessMultinomial", ["logits", "count", "key"])
    assert node.attr["output_dtype"].type == tf.int64.as_datatype_enum and "dtype" not in node.attr


def test_seeds_follow_from_the_name_alone():
    first, same, other = (v1.NodeDef(name=name, op="RandomShuffle") for name in ("a", "a", "b"))
    for node in (first, same, other):
        noise.fix_seed(node)
    assert first == same and first.attr["seed"].i != other.attr["seed"].i
    assert first.attr["seed"].i > 0 and first.attr["seed2"].i > 0


def test_each_iteration_of_a_loop_has_the_loops_key_plus_a_stride_for_each_before():
    with tf.Graph().as_default() as graph:
        v1.disable_control_flow_v2()
        key = v1.placeholder(tf.int32, [2], name="key")
        v1.while_loop(
            lambda turn, keys: turn < 3,
            lambda turn, keys: (turn + 1, tf.concat([keys, [turn]], 0, name="use")),
            [tf.constant(0), tf.identity(key)],
            [tf.TensorShape([]), tf.TensorShape([None])],
            name="while",
        )
    graph_def = graph.as_graph_def()
    (use,) = [node for node in graph_def.node if node.name.endswith("use")]
    counter = next(n.name for n in graph_def.node if n.name == "while/Identity")
    name = noise.add_iteration_key(graph_def, "random", "key", "while/while_context", counter)
    use.input[1] = name  # in place of [turn]
    exits = [node.name + ":0" for node in graph_def.node if node.op == "Exit"]
    with tf.Graph().as_default(), v1.Session() as session:
        fetches = tf.import_graph_def(graph_def, return_elements=exits, name="")
        found = max(session.run(fetches, {"key:0": [10, 20]}), key=np.size)
    stride = random_keys.KEY_STRIDE
    assert found.tolist() == [10, 20, 10, 20, 10 + stride, 20 + stride, 10 + 2 * stride, 20 + 2 * stride]


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(noise).failed == 0 < doctest.testmod(noise).attempted
