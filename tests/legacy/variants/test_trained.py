"""Updates that collections do not list, or that read what they have changed, each lifted and compared bit by bit."""

import tensorflow as tf

from legacy.saved.facts.basics.rows import NOT_ANALYSED
from legacy.saved.report.page import inspect_graph
from tests.legacy.variants.programs import (
    TOWERS,
    assert_same,
    gradient_of,
    lifted,
    plain,
    split_batch,
    towers,
    weights,
)

v1 = tf.compat.v1
#: What Adam adds to its moments of an embedding.
ROWS = ["table/Adam", "table/Adam (indices)", "table/Adam_1", "table/Adam_1 (indices)"]


def test_an_optimizer_written_by_hand_in_a_graph_without_collections(tmp_path):
    """Adamax in assignments; the file does not list the trainable variables."""

    def build():
        xs = split_batch()
        gradient = tf.add_n(towers(lambda i: gradient_of(xs[i]))) / TOWERS
        first, largest, count = plain("first", [3, 2]), plain("largest", [3, 2]), plain("count", [], 1.0)
        m, u = 0.9 * first + 0.1 * gradient, tf.maximum(0.99 * largest, tf.abs(gradient) + 1e-8)
        moved = weights() - 0.125 / (1.0 - 0.9**count) * m / u
        assigns = [v1.assign(first, m), v1.assign(largest, u), v1.assign(weights(), moved), v1.assign_add(count, 1.0)]
        v1.get_default_graph().clear_collection("trainable_variables")
        return v1.group(*assigns, name="train")

    setup = lifted(build, tmp_path, train_op=())
    plan = setup.job.workload.plan
    roles = {variable.name: (variable.role, variable.of) for variable in plan.variables}
    assert roles["net/w"] == ("weight", "") and roles["first"] == roles["largest"] == ("slot", "net/w")
    assert [(c.weight, c.kind) for c in plan.phases[0].combine] == [("net/w", "mean")]
    assert_same(setup)
    sections = inspect_graph(str(tmp_path / "graph.meta"))
    assert NOT_ANALYSED not in sections
    assert [row["hazard"] for row in sections["hazards"]] == ["CORRECTION_RACE"]  # the group counts in no order


def test_a_single_tower_with_adam_on_rows(tmp_path):
    """Adam's update of rows is made of assignments, and the last one reads the moments after they have changed."""

    def build():
        words = v1.placeholder(tf.int32, [4], name="words")
        target = v1.placeholder(tf.float32, [4, 2], name="target")
        table = v1.get_variable("table", [5, 2], initializer=v1.glorot_uniform_initializer(seed=2), use_resource=False)
        hidden = tf.tanh(tf.matmul(tf.gather(table, words), weights(), transpose_b=True))
        loss = tf.reduce_mean((tf.matmul(hidden, weights()) - target) ** 2)
        return v1.train.AdamOptimizer(0.125).minimize(loss, name="train")

    setup = lifted(build, tmp_path)
    plan = setup.job.workload.plan
    assert plan.towers == 1 and {v.name for v in plan.variables if v.role == "weight"} == {"table", "net/w"}
    combined = {entry.weight: entry.kind for entry in plan.phases[0].combine}
    assert combined == {**dict.fromkeys(ROWS, "concat"), "net/w": "mean", "table": "concat"}
    assert_same(setup)
