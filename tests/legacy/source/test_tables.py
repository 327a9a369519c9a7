"""Tables of numbers that are too large for a text are in a file beside the source."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.source import Source, write_source
from legacy.source.tables import with_equal_tables_joined, with_tables
from tests.legacy.source import old_towers
from tests.legacy.source.trained import assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import lifted, mean_of, split_batch, sum_of_squares, towers, weights
from workloads.lifted.graph import Graph
from workloads.support.errors import InputError

TABLE = np.random.RandomState(0).normal(size=[3, 40]).astype("float32")


def of_a_constant():
    """Each tower has the same table as a constant of its own."""
    xs = split_batch()

    def gradient(tower):
        x = tf.matmul(tf.matmul(xs[tower], tf.constant(TABLE)), tf.constant(TABLE.T.copy()))
        return tf.gradients(sum_of_squares(x), [weights()])[0]

    return mean_of(towers(gradient))


def test_both_styles_load_the_tables(tmp_path):
    setup = lifted(of_a_constant, tmp_path)
    source = source_of(setup, "workload")
    assert [array.shape for array in source.tables.values()] == [(3, 40), (40, 3)]
    assert any("in the .npz file beside it" in note and "[3, 40]" in note for note in source.notes)
    assert "have the old graph's bits" in source.text
    write_source(str(tmp_path / "workload.py"), source)
    assert_workload_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)


def test_a_source_without_its_tables_says_so(tmp_path):
    write_source(str(tmp_path / "port.py"), source_of(lifted(of_a_constant, tmp_path), "workload"))
    (tmp_path / "port.npz").unlink()
    with pytest.raises(FileNotFoundError, match=r"port\.npz has this program's tables of numbers; keep it beside"):
        old_towers.load(tmp_path / "port.py", "port")


def test_tables_are_not_written_beside_standard_output():
    with pytest.raises(InputError, match="name a file"):
        write_source("-", Source("", [], {"table": TABLE}))


def test_a_module_without_tables_stays_as_it_is():
    text = '"""Doc."""\n\nimport tensorflow as tf\n\nX = 1\n'
    assert with_tables(text) == text


@pytest.mark.parametrize("size", [999, 65])
def test_equal_tables_are_one(size):
    with tf.Graph().as_default() as graph:
        tables = [
            tf.constant(np.arange(n, n + size, dtype="float32") ** 2, name=name)
            for n, name in ((0, "a"), (0, "b"), (1, "c"))
        ]
        with tf.control_dependencies([tf.constant(1.0, name="turn")]):  # as in the frame of a loop
            tables.append(tf.constant(np.arange(size, dtype="float32") ** 2, name="d"))
        tf.stack([*tables, tf.constant(2.0, shape=[size])], name="all")
    joined = with_equal_tables_joined(Graph(graph.as_graph_def()))
    assert [tensor.node for tensor in joined.inputs("all")][:4] == ["a", "a", "c", "d"]
    same = Graph(tf.Graph().as_graph_def())
    assert with_equal_tables_joined(same) is same
