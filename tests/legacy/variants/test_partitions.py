"""A partitioned embedding, from a checkpoint of the old program, lifted and compared bit by bit."""

import numpy as np
import tensorflow as tf

from legacy.saved.lifting import lift_graph
from legacy.saved.report.page import inspect_graph
from tests.legacy.variants.programs import TOWERS, assert_same, setup_of, sum_of_squares, towers, weights
from workloads.selection import registry

v1 = tf.compat.v1


def old_program(folder):
    """Saves a program after a step; returns {name in the checkpoint: value}."""
    with tf.Graph().as_default():
        words = tf.split(v1.placeholder(tf.int32, [TOWERS * 3], name="words"), TOWERS)
        with v1.variable_scope("net", partitioner=v1.fixed_size_partitioner(2), use_resource=False):
            table = v1.get_variable("table", [5, 3], initializer=v1.glorot_uniform_initializer(seed=2))
        variables = [*list(table), weights()]

        def gradients(i):
            rows = v1.nn.embedding_lookup(table, words[i], partition_strategy="div")
            return [tf.convert_to_tensor(g) for g in tf.gradients(sum_of_squares(rows), variables)]

        means = [tf.add_n(each) / TOWERS for each in zip(*towers(gradients))]
        train = v1.train.MomentumOptimizer(0.125, 0.5).apply_gradients(list(zip(means, variables)), name="train")
        saver = v1.train.Saver()
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            session.run(train, {"words:0": np.arange(TOWERS * 3) % 5})
            saver.save(session, str(folder / "model.ckpt"))
            return {"parts": session.run(list(table)), "weights": session.run(weights())}


def test_the_parts_are_read_from_the_whole(tmp_path):
    values = old_program(tmp_path)
    meta, checkpoint = str(tmp_path / "model.ckpt.meta"), str(tmp_path / "model.ckpt")
    (following,) = [row["is"] for row in inspect_graph(meta)["next"] if row["what"] == "next command"]
    assert f"--checkpoint={checkpoint}" in following
    lift_graph(meta, str(tmp_path / "lifted"), checkpoint)
    start = registry.get(str(tmp_path / "lifted")).initial_state()
    for number, part in enumerate(values["parts"]):
        assert np.array_equal(start.weights[f"net/table/part_{number}"], part) and part.shape == (3 - number, 3)
        assert np.any(start.slots[f"net/table/part_{number}/Momentum"])
    assert np.array_equal(start.weights["net/w"], values["weights"])
    assert_same(setup_of(str(tmp_path / "lifted")))
