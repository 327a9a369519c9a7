"""Rows of several lookups of one table: another order of the same rows is another rounding, and no other gradient."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.source import prepared, proof
from legacy.source.gradient_rows import sums_of_reordered_rows
from tests.legacy.source.test_trained_updates import mean_gradients, weight, words
from tests.legacy.source.trained import source_of
from tests.legacy.variants.programs import lifted, towers
from workloads.lifted.plan import indices_label
from workloads.support.errors import InputError

v1 = tf.compat.v1


def looked_up_twice():
    """Rows of one table that is looked up at the words, and at those before them."""
    ids, table, w = words(), weight("emb", [5, 3]), weight("w", [3, 2])

    def loss(tower):
        one, two = tf.nn.embedding_lookup(table, ids[tower]), tf.nn.embedding_lookup(table, tf.nn.relu(ids[tower] - 1))
        return tf.reduce_sum(tf.tanh(tf.matmul(tf.tanh(one) + 0.3 * two, w)) ** 2)

    return v1.train.AdagradOptimizer(0.125).apply_gradients(mean_gradients(towers(loss)))


def changed(change):
    """Returns `v1.gradients` whose rows are changed by a function of (values, indices)."""
    made = v1.gradients

    def gradients(*args, **kwargs):
        found = made(*args, **kwargs)
        return [
            tf.IndexedSlices(*change(one.values, one.indices), one.dense_shape)
            if isinstance(one, tf.IndexedSlices)
            else one
            for one in found
        ]

    return gradients


def turned(values, indices):
    return tf.reverse(values, [0]), tf.reverse(indices, [0])


def turned_indices(values, indices):
    return values, tf.reverse(indices, [0])


def other_indices(values, indices):
    return values, tf.zeros_like(indices)


def results(values, indices):
    return {"w": np.array(values, np.float32)[:, np.newaxis], indices_label("w"): np.array(indices)}


def test_rows_in_another_order_are_added_up_and_rows_of_other_indices_are_not():
    one, two = results([1, 2, 4], [3, 1, 3]), results([4, 2, 1], [3, 1, 3])
    assert not sums_of_reordered_rows(one, two, ["w"]) and list(one) == ["w"]  # one by one: their values differ
    assert one["w"].tolist() == [[1], [2], [4]]
    one, two = results([1, 2, 4], [3, 1, 3]), results([1, 2, 4], [3, 1, 1])
    assert not sums_of_reordered_rows(one, two, ["w"]) and one["w"].tolist() != two["w"].tolist()
    one, two = results([1, 2, 4], [3, 1, 3]), results([4, 1, 2], [3, 3, 1])
    assert sums_of_reordered_rows(one, two, ["w"]) and one["w"].tolist() == two["w"].tolist() == [[2], [5]]


def test_rows_in_another_order_are_the_gradient(tmp_path, monkeypatch):
    setup = lifted(looked_up_twice, tmp_path)
    assert "have the old graph's bits" in source_of(setup).text
    monkeypatch.setattr(proof.v1, "gradients", changed(turned))
    text = " ".join(source_of(setup).text.split())
    assert "differ by rounding" in text and "come in another order" in text


def test_the_dense_gradient_of_a_table_that_is_changed_before_it_is_looked_up_is_seen(tmp_path, monkeypatch):
    """The row of the padding is set to zeros; the old gradient is of the rows that are looked up afterwards."""
    monkeypatch.setattr(prepared, "with_rows_set_before", lambda plan, graph: graph)

    def build():
        ids, table = words(), weight("emb", [5, 3])

        def loss(tower):
            with tf.control_dependencies([v1.scatter_update(table, [0], tf.zeros([1, 3]))]):
                rows = tf.nn.embedding_lookup(table, ids[tower])
            return tf.reduce_sum(tf.tanh(tf.matmul(rows, weight("w", [3, 2]))) ** 2)

        return v1.train.AdagradOptimizer(0.125).apply_gradients(mean_gradients(towers(loss)))

    with pytest.raises(InputError, match="gradients: dense in the written loss, and rows .*: net/emb"):
        source_of(lifted(build, tmp_path))


@pytest.mark.parametrize("change", [turned_indices, other_indices])
def test_the_rows_of_other_indices_are_another_gradient(change, tmp_path, monkeypatch):
    setup = lifted(looked_up_twice, tmp_path)
    monkeypatch.setattr(proof.v1, "gradients", changed(change))
    with pytest.raises(InputError, match="gradients of the old graph contain what the towers' losses do not: net/emb"):
        source_of(setup)
