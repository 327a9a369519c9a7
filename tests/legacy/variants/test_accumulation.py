"""Gradients that are added up in several runs and applied in another, each lifted and compared bit by bit."""

import dataclasses

import pytest
import tensorflow as tf

from legacy.saved.report.page import inspect_graph
from tests.legacy.variants.programs import (
    TOWERS,
    apply,
    assert_same,
    gradient_of,
    lifted,
    plain,
    setup_of,
    split_batch,
    sum_of_squares,
    towers,
    verified,
    weights,
)
from workloads.support.errors import InputError

v1 = tf.compat.v1


def test_accumulated_gradients_by_train_ops_in_turn(tmp_path):
    def build():
        xs = split_batch()
        grads = towers(lambda i: tf.gradients(sum_of_squares(xs[i]), [weights()])[0])
        kept = v1.get_variable("kept", [3, 2], initializer=v1.zeros_initializer(), trainable=False, use_resource=False)
        v1.group(v1.assign_add(kept, tf.add_n(grads) / TOWERS), name="keep")
        v1.group(v1.assign(kept, tf.zeros([3, 2])), name="forget")
        return v1.group(apply(kept / 2.0), name="use")

    setup = lifted(build, tmp_path, train_op=["keep", "keep", "use", "forget"])
    assert len(setup.job.workload.plan.phases) == 4
    result = verified(setup, 9)
    assert result.passed and result.stages["weights"].tensors == 9, result.first
    keep, _, use, forget = setup.job.workload.plan.phases
    assert [(c.weight, c.kind) for c in keep.combine] == [("kept", "mean")] and not use.combine and not forget.combine
    assert result.stages["gradients"].tensors  # those that are kept


@pytest.mark.parametrize("in_order", [True, False])
def test_sums_that_the_run_of_their_update_sets_back_are_compared_as_the_update_takes_them(in_order, tmp_path):
    def build():
        xs = split_batch()
        grads = towers(lambda i: tf.gradients(sum_of_squares(xs[i]), [weights()])[0])
        kept = plain("kept", [3, 2])
        v1.group(v1.assign_add(kept, tf.add_n(grads) / TOWERS), name="keep")
        update = apply(kept)
        with tf.control_dependencies([update] if in_order else []):
            return v1.group(update, v1.assign(kept, tf.zeros([3, 2])), name="use")

    setup = lifted(build, tmp_path, train_op=["keep", "keep", "use"])
    with setup.legacy_program() as towers_of_old:
        sums = [towers_of_old.step().combined for _ in range(3)][2]
    assert sums["net/w"].any()
    assert_same(setup)


def test_sums_that_a_branch_of_the_same_run_applies_by_hand(tmp_path):
    """BERT on several GPUs: a hand-written optimizer in a `cond` that is entered in every second run."""

    def build():
        v1.disable_control_flow_v2()
        xs = split_batch()
        grads = towers(lambda i: tf.gradients(sum_of_squares(xs[i]), [weights()])[0])
        kept, moment = plain("kept", [3, 2]), plain("moment", [3, 2])
        count = v1.get_variable("micro", initializer=0, trainable=False, use_resource=False)
        with tf.control_dependencies([v1.assign_add(kept, tf.add_n(grads) / TOWERS)]):
            runs = v1.assign_add(count, 1)

        def update():
            new = 0.5 * moment + 0.5 * kept.read_value() / 2.0
            with tf.control_dependencies([v1.assign(weights(), weights() - 0.25 * new), v1.assign(moment, new)]):
                return tf.group(v1.assign(kept, tf.zeros_like(kept)))

        with tf.control_dependencies([runs]):
            return v1.group(v1.cond(tf.equal(runs % 2, 0), update, v1.no_op), name="train")

    setup = lifted(build, tmp_path)
    roles = {variable.name: (variable.role, variable.of) for variable in setup.job.workload.plan.variables}
    assert roles["net/w"] == ("weight", "") and roles["moment"] == ("slot", "net/w") and roles["kept"][0] == "statistic"
    result = verified(setup, 5)
    assert result.passed and result.stages["gradients"].tensors, result.first
    sections = inspect_graph(str(tmp_path / "graph.meta"))
    assert [row["variable"] for row in sections["accumulated gradients"]] == ["kept", "kept"]
    assert not sections["hazards"]


def test_gradients_that_ops_of_one_run_accumulate(tmp_path):
    """The train op alone would train nothing; a list of ops was fetched to accumulate, as in many programs."""

    def build():
        xs = split_batch()
        bias = v1.get_variable("bias", [2], initializer=v1.zeros_initializer(), use_resource=False)
        grads = towers(
            lambda i: tf.gradients(tf.reduce_sum((tf.matmul(xs[i], weights()) + bias) ** 2), [weights(), bias])
        )
        averaged = [tf.add_n(each) / TOWERS for each in zip(*grads)]
        sums = [v1.Variable(tf.zeros_like(g), trainable=False, use_resource=False, name="sum") for g in averaged]
        for number, (kept, gradient) in enumerate(zip(sums, averaged)):
            v1.assign_add(kept, gradient, name=f"keep{number}")
            v1.assign(kept, tf.zeros_like(kept), name=f"forget{number}")
        optimizer = v1.train.GradientDescentOptimizer(0.125)
        return optimizer.apply_gradients([(sums[0] / 2.0, weights()), (sums[1] / 2.0, bias)], name="use")

    with pytest.raises(InputError, match=r"--train_op=keep0\+keep1,keep0\+keep1,use,forget0\+forget1$"):
        lifted(build, tmp_path, train_op=())
    setup = lifted(build, tmp_path, train_op=["keep0+keep1", "keep0+keep1", "use", "forget0+forget1"])
    assert len(setup.job.workload.plan.phases) == 4
    result = verified(setup, 9)
    assert result.passed and result.stages["weights"].tensors == 18, result.first


def test_sums_of_rows_and_of_a_matrix_that_are_clipped_together(tmp_path):
    """A translation model of 2017: its embedding's gradient is rows, all are clipped by one norm before Adam."""

    def build():
        words = tf.split(v1.placeholder(tf.int32, [TOWERS * 3], name="words"), TOWERS)
        table = v1.get_variable("table", [5, 3], initializer=v1.glorot_uniform_initializer(seed=2), use_resource=False)
        losses = lambda i: tf.reduce_sum(tf.exp(tf.matmul(tf.gather(table, words[i]), weights())))  # noqa: E731
        grads = towers(lambda i: tf.gradients(losses(i) / TOWERS, [table, weights()]))
        rows = [pair[0] for pair in grads]
        kept = [plain("sum_of_rows", [5, 3]), plain("sum_of_matrix", [3, 2])]
        values, indices = (tf.concat([getattr(g, part) for g in rows], 0) for part in ("values", "indices"))
        adds = [v1.scatter_add(kept[0], indices, values), v1.assign_add(kept[1], tf.add_n([g for _, g in grads]))]
        tf.group(*adds, name="collect")
        tf.group(*[v1.assign(one, tf.zeros_like(one)) for one in kept], name="zero")
        clipped, _ = tf.clip_by_global_norm([one / 2.0 for one in kept], 0.25)
        return v1.train.AdamOptimizer(0.125).apply_gradients(list(zip(clipped, [table, weights()])), name="train")

    runs = ["zero", "collect", "collect", "train"]
    setup = lifted(build, tmp_path, train_op=runs)
    result = verified(setup, 9)
    assert result.passed and result.stages["gradients"].tensors, result.first
    other = verified(dataclasses.replace(setup_of(str(tmp_path / "lifted"), replicas=3), replicated=True), 5)
    assert other.passed, other.first
    sections = inspect_graph(str(tmp_path / "graph.meta"), runs)
    combined = {(row["train op"], row["of"]): (row["are"], row["clipped"]) for row in sections["combining"]}
    of_losses = "sum of losses that are divided by the towers: a mean"
    assert combined["collect", "sum_of_matrix"] == (of_losses, "no")
    assert combined["collect", "sum_of_rows, sum_of_rows (indices)"][0] == of_losses.replace("sum", "concat")
    assert combined["train", "table, net/w"] == ("as added up in other runs", "by global norm, at 0.25")
    assert {row["variable"] for row in sections["accumulated gradients"]} == {"sum_of_rows", "sum_of_matrix"}
    assert sections["statistics"] == []
    roles = {row["name"]: row["role"] for row in sections["variables"]}
    assert roles["sum_of_rows"] == roles["sum_of_matrix"] == "sum of gradients"


def test_rows_of_a_statistic_are_no_gradient(tmp_path):
    """Centres of classes, as face recognition had them, are moved towards what the model computes."""

    def build():
        xs = split_batch()
        labels = tf.split(v1.placeholder(tf.int32, [TOWERS * 4], name="labels"), TOWERS)
        centres = plain("centres", [3, 2])

        def gradient(i):
            features = tf.tanh(tf.matmul(xs[i], weights()))
            near = tf.gather(centres, labels[i])
            moves.append(v1.scatter_sub(centres, labels[i], 0.25 * (near - features)))
            return tf.gradients(tf.reduce_sum((features - near) ** 2), [weights()])[0]

        moves = []
        return tf.group(apply(tf.add_n(towers(gradient)) / TOWERS), *moves, name="train")

    setup = lifted(build, tmp_path)
    plan = setup.job.workload.plan
    assert [entry.weight for entry in plan.phases[0].combine] == ["net/w"]
    assert [entry.name for entry in plan.inputs + plan.common] == ["x", "labels"]  # the update has no labels of its own
    result = verified(setup, 5)
    assert result.passed and result.stages["statistics"].tensors, result.first


def test_sums_that_a_cond_hands_on_by_reference(tmp_path):
    """A translation model of 2018: a `cond` gives the sum or its mean, which is clipped; a second one applies it."""

    def build():
        v1.disable_control_flow_v2()
        xs = split_batch()
        kept, count = plain("kept", [3, 2]), plain("count", [], 1.0)
        added = v1.assign_add(kept, tf.add_n(towers(lambda i: gradient_of(xs[i]))) / TOWERS)
        gradient = v1.cond(tf.equal(count, 0.0), lambda: added / 2.0, lambda: added)
        clipped, _ = tf.clip_by_global_norm([gradient], 0.25)

        def update():
            with tf.control_dependencies([apply(clipped[0])]):
                return tf.group(v1.assign(kept, tf.zeros_like(kept)))

        updated = v1.cond(tf.equal(count, 0.0), update, lambda: tf.group(gradient))
        with tf.control_dependencies([updated]):
            return v1.assign(count, tf.math.mod(count + 1.0, 2.0), name="train")

    result = verified(lifted(build, tmp_path), 6)
    assert result.passed and result.stages["combined gradients"].tensors, result.first
    sections = inspect_graph(str(tmp_path / "graph.meta"))
    assert {row["variable"] for row in sections["accumulated gradients"]} == {"kept"}
    assert [row["variable"] for row in sections["statistics"]] == ["count"]
