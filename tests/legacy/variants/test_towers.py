"""Ways to write towers that the recorded programs do not show, each lifted and compared bit by bit."""

import dataclasses
import functools
import os

import numpy as np
import pytest
import tensorflow as tf

from tests.legacy.variants.programs import (
    BATCH,
    TOWERS,
    apply,
    assert_same,
    lifted,
    plain,
    setup_of,
    split_batch,
    sum_of_squares,
    towers,
    verified,
    weights,
)
from workloads.lifted.sources import LiftedSynthetic
from workloads.support.errors import InputError

v1 = tf.compat.v1


def test_mean_over_all_towers_words(tmp_path):
    """The loss is a ratio of sums: each tower's gradients wait for all towers' counts."""

    def build():
        xs = split_batch()
        masks = tf.split(v1.placeholder(tf.float32, [TOWERS * BATCH], name="mask"), TOWERS)
        parts = towers(
            lambda i: (
                tf.reduce_sum(tf.reduce_sum(tf.tanh(tf.matmul(xs[i], weights())) ** 2, 1) * masks[i]),
                tf.reduce_sum(masks[i]),
            )
        )
        loss = tf.add_n([part[0] for part in parts]) / tf.add_n([part[1] for part in parts])
        return v1.train.MomentumOptimizer(0.1, 0.9).minimize(loss)

    setup = lifted(build, tmp_path)
    phase = setup.job.workload.plan.phases[0]
    assert all(phase.returns) and all(phase.kept)  # the forward pass is not run twice
    assert_same(setup)
    with pytest.raises(InputError, match="depend on all towers' results; only --replicas=2"):
        setup_of(str(tmp_path / "lifted"), replicas=3).modern_program()


@pytest.mark.parametrize("is_looped", [True, False])
def test_the_gradient_of_a_loop_behind_the_exchange_is_computed_with_its_arrays(tmp_path, is_looped):
    """Arrays and stacks last as long as one run: what is behind the exchange makes its own."""

    def build():
        v1.disable_control_flow_v2()
        xs = split_batch()
        masks = tf.split(v1.placeholder(tf.float32, [TOWERS * BATCH], name="mask"), TOWERS)

        def states(x):
            steps = [x, 2.0 * x, -x]
            if is_looped:
                start = tf.zeros([BATCH, 2])
                return v1.scan(lambda state, now: tf.tanh(tf.matmul(now, weights()) + state), tf.stack(steps), start)
            return tf.stack([tf.tanh(tf.matmul(step, weights())) for step in steps])

        parts = towers(lambda i: (tf.reduce_sum(states(xs[i]) ** 2 * masks[i][:, None]), tf.reduce_sum(masks[i])))
        loss = tf.add_n([part[0] for part in parts]) / tf.add_n([part[1] for part in parts])
        return v1.train.MomentumOptimizer(0.1, 0.9).minimize(loss)

    setup = lifted(build, tmp_path)
    assert all(setup.job.workload.plan.phases[0].returns)
    assert_same(setup)


def mean_over_all_examples(make_inputs):
    """A program whose loss is the mean of the joined losses of all examples, of batches of any size."""

    def build():
        xs = make_inputs()
        parts = towers(lambda tower: tf.reduce_sum(tf.tanh(tf.matmul(xs[tower], weights())) ** 2, 1))
        loss = tf.reduce_mean(tf.concat(parts, 0))
        return v1.train.GradientDescentOptimizer(0.1).minimize(loss, colocate_gradients_with_ops=True)

    return build


def test_the_mean_over_equal_parts_of_any_size_waits_for_no_other_tower(tmp_path):
    def parts():
        return tf.split(v1.placeholder(tf.float32, [None, 3], name="x"), TOWERS)

    setup = lifted(mean_over_all_examples(parts), tmp_path)
    (phase,) = setup.job.workload.plan.phases
    assert not phase.returns and setup.job.workload.plan.differences == []
    assert_same(setup)
    other = verified(dataclasses.replace(setup_of(str(tmp_path / "lifted"), replicas=3), replicated=True))
    assert other.passed, other.first


def test_the_mean_over_batches_that_may_differ_in_size_waits_for_all_towers(tmp_path):
    def batches():
        return [v1.placeholder(tf.float32, [None, 3], name=f"x_{tower}") for tower in range(TOWERS)]

    setup = lifted(mean_over_all_examples(batches), tmp_path)
    assert_same(setup)
    with pytest.raises(InputError, match="only --replicas=2"):
        setup_of(str(tmp_path / "lifted"), replicas=3).modern_program()


def test_gradients_that_wait_for_all_towers_losses_at_another_number_of_towers(tmp_path):
    """`Optimizer` gates the gradients of the division, one of which is made of the losses' sum."""

    def build():
        losses = towers(
            lambda i: tf.reduce_mean(tf.tanh(tf.matmul(v1.placeholder(tf.float32, [4, 3]), weights())) ** 2)
        )
        return v1.train.GradientDescentOptimizer(0.5).minimize(tf.add_n(losses) / TOWERS)

    lifted(build, tmp_path)
    setup = dataclasses.replace(setup_of(str(tmp_path / "lifted"), replicas=3), replicated=True)
    assert_same(setup)


@pytest.mark.parametrize("finite", [True, False])
def test_a_step_is_skipped_where_the_old_program_skipped_it(finite, tmp_path):
    def build():
        xs = split_batch()
        grads = towers(lambda i: tf.gradients(sum_of_squares(xs[i]), [weights()])[0])
        mean = tf.add_n(grads) / TOWERS
        with v1.control_dependencies([mean]):
            v1.disable_control_flow_v2()
            return v1.cond(tf.reduce_all(v1.is_finite(mean)), lambda: v1.group(apply(mean)), lambda: v1.no_op())

    class Source(LiftedSynthetic):
        def shards(self, step):
            shards = super().shards(step)
            if not finite and step == 1:
                shards[1]["x"][0, 0] = np.nan
            return shards

    lifted(build, tmp_path)
    setup = setup_of(str(tmp_path / "lifted"), make_source=Source)
    assert setup.job.workload.plan.phases[0].effects[0].condition[1] is True
    result = verified(setup, 3)
    assert result.passed, result.first
    with setup.modern_program() as program:
        before = program.step().state.weights["net/w"]
        after = program.step().state.weights["net/w"]
    assert (before.tobytes() == after.tobytes()) is not finite and np.isfinite(after).all()


@pytest.mark.parametrize("least", [0.0, 1e9])
def test_a_cond_in_a_cond(least, tmp_path):
    """In each tower's model, with its gradient, and around the update."""

    def build():
        v1.disable_control_flow_v2()
        xs = split_batch()

        def loss(i):
            y = tf.matmul(xs[i], weights())

            def positive():
                return v1.cond(tf.reduce_max(y) > 1.0, lambda: tf.tanh(y), lambda: y * tf.exp(-y))

            return tf.reduce_sum(v1.cond(tf.reduce_sum(xs[i]) > 0, positive, lambda: tf.sigmoid(y)) ** 2)

        grads = towers(lambda i: tf.gradients(loss(i), [weights()])[0])
        mean = tf.add_n(grads) / TOWERS

        def update():
            return v1.cond(tf.reduce_sum(mean**2) > least, lambda: v1.group(apply(mean)), v1.no_op)

        return v1.cond(tf.reduce_all(v1.is_finite(mean)), update, v1.no_op)

    setup = lifted(build, tmp_path)
    (effect,) = setup.job.workload.plan.phases[0].effects
    assert [condition.branch for condition in effect.conditions] == [True, True]
    assert_same(setup)
    with setup.modern_program() as program:
        before = program.state().weights["net/w"]
        after = program.step().state.weights["net/w"]
    assert (before.tobytes() == after.tobytes()) is (least > 0)


def test_random_numbers_inside_a_loop(tmp_path):
    """Each turn draws its own; the same on both sides."""

    def build():
        v1.disable_control_flow_v2()
        xs = split_batch()

        def loss(i):
            w = weights()

            def body(turn, state):
                mask = v1.random_uniform([BATCH, 3]) * 2
                return turn + 1, tf.tanh(tf.matmul(state * mask, tf.matmul(w, w, transpose_b=True)))

            return tf.reduce_sum(v1.while_loop(lambda turn, state: turn < 4, body, [tf.constant(0), xs[i]])[1])

        grads = towers(lambda i: tf.gradients(loss(i), [weights()])[0])
        return apply(tf.add_n(grads) / TOWERS)

    setup = lifted(build, tmp_path)
    (noise,) = setup.job.workload.plan.noise
    assert noise.how == "keyed" and noise.in_loop and len(noise.loops) == TOWERS
    assert_same(setup)


def test_gradients_whose_data_come_from_stacks_alone(tmp_path):
    """What a loop's gradient uses of the data is on stacks; the gradient of `scale` uses them at once."""

    def build():
        v1.disable_control_flow_v2()
        xs, wanted = split_batch(), [plain("kernel", [3, 3], 0.5), plain("scale", [3], 0.25)]

        def gradients(i):
            def body(turn, state, total):
                state = tf.tanh(tf.matmul(state, wanted[0]))
                return turn + 1, state, total + tf.reduce_mean(tf.abs(state))

            start = [tf.constant(0), xs[i] * wanted[1], tf.constant(0.0)]
            return tf.gradients(v1.while_loop(lambda turn, *_: turn < 4, body, start)[2], wanted)

        means = [tf.add_n(pair) / TOWERS for pair in zip(*towers(gradients))]
        return v1.train.GradientDescentOptimizer(0.1).apply_gradients(zip(means, wanted))

    setup = lifted(build, tmp_path)
    plan = setup.job.workload.plan
    assert [combine.kind for combine in plan.phases[0].combine] == ["mean", "mean"] and not plan.common
    assert_same(setup)


def test_state_that_was_fetched_and_fed(tmp_path):
    def build():
        xs = split_batch()

        def gradient(i):
            state = v1.placeholder(tf.float32, [BATCH, 2], name="state")
            new = tf.tanh(tf.matmul(xs[i], weights()) + state)
            tf.identity(new, name="new")
            return tf.gradients(tf.reduce_sum(new**2), [weights()])[0]

        return apply(tf.add_n(towers(gradient)) / TOWERS)

    carry = {f"tower_{i}/state": f"tower_{i}/new:0" for i in range(TOWERS)}
    setup = lifted(build, tmp_path, carry=carry)
    states = [v for v in setup.job.workload.plan.variables if v.role == "state"]
    assert [(v.name, v.tower) for v in states] == [("tower_0/state", 0), ("tower_1/state", 1)]
    assert [entry.name for entry in setup.job.workload.plan.inputs] == ["x"]
    assert_same(setup)
    with setup_of(str(tmp_path / "lifted"), replicas=3).modern_program() as program:
        assert len({loss.tobytes() for loss in program.step().losses}) == 3


def test_the_same_batch_to_every_tower(tmp_path):
    def build():
        x = v1.placeholder(tf.float32, [BATCH, 3], name="x")
        grads = towers(lambda i: tf.gradients(sum_of_squares(x) * (i + 1.0), [weights()])[0])
        return apply(tf.add_n(grads) / TOWERS)

    setup = lifted(build, tmp_path)
    assert setup.job.workload.plan.inputs[0].kind == "same batch"
    assert setup.job.workload.plan.differences  # the second tower's loss counts twice
    assert_same(setup)


@pytest.mark.parametrize("device, scope", [("/gpu:{}", None), (None, "worker{}"), (None, None)])
def test_towers_are_found_by_devices_scopes_or_suffixes(device, scope, tmp_path):
    def build():
        xs = split_batch()
        return apply(tf.add_n(towers(lambda i: tf.gradients(sum_of_squares(xs[i]), [weights()])[0], device, scope)))

    setup = lifted(build, tmp_path)
    assert setup.job.workload.plan.towers == TOWERS
    assert_same(setup)


def test_layers_are_not_taken_for_towers(tmp_path):
    """conv1, conv2 look like towers by name; each depends on the last."""

    def build():
        x = v1.placeholder(tf.float32, [BATCH, 3], name="x")
        for layer in range(2):
            with v1.name_scope(f"layer{layer}"):
                x = tf.tanh(tf.matmul(tf.matmul(x, weights()), weights(), transpose_b=True))
        return apply(tf.gradients(tf.reduce_sum(x**2), [weights()])[0])

    setup = lifted(build, tmp_path)
    assert setup.job.workload.plan.towers == 1
    assert_same(setup)


def test_convolutions_with_channels_first(tmp_path):
    """A CPU has no such kernels without oneDNN, which exact runs switch off: the message names the flag that helps."""

    def build():
        xs = tf.split(v1.placeholder(tf.float32, [TOWERS * BATCH, 1, 4, 4], "x"), TOWERS)

        def gradients(i):
            with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
                kernel = v1.get_variable("k", [3, 3, 1, 2], use_resource=False)
            y = v1.nn.max_pool(tf.nn.conv2d(xs[i], kernel, 1, "SAME", "NCHW"), 2, 2, "SAME", "NCHW")
            return tf.gradients(tf.reduce_mean(y**2), [kernel])[0], kernel

        both = towers(gradients)
        optimizer = v1.train.MomentumOptimizer(0.125, 0.5)
        return optimizer.apply_gradients([(tf.add_n([g for g, _ in both]) / TOWERS, both[0][1])], name="train")

    setup = lifted(build, tmp_path)
    with setup.legacy_program() as program, pytest.raises(InputError, match="; lift the graph with --layout=NHWC$"):
        program.step()
    assert_same(lifted(build, tmp_path, layout="NHWC"))


def test_new_gradients_of_the_lifted_loss(tmp_path):
    def build():
        xs = split_batch()
        grads = towers(lambda i: v1.clip_by_norm(tf.gradients(sum_of_squares(xs[i]), [weights()])[0], 0.1))
        return apply(tf.add_n(grads) / TOWERS)

    lifted(build, tmp_path)
    setup = setup_of(str(tmp_path / "lifted"), autodiff="new")
    with setup.modern_program() as program:
        assert program.describe()["autodiff"] == "tf.gradients of the lifted loss"
    assert_same(setup)


def test_python_in_the_model_is_refused_by_name(tmp_path):
    def build():
        xs = split_batch()

        def gradient(i):
            h = tf.matmul(xs[i], weights())
            mask = v1.py_func(lambda value: (value > 0).astype(np.float32), [h], tf.float32, name="mask")
            mask.set_shape(h.shape)
            return tf.gradients(tf.reduce_sum((h * mask) ** 2), [weights()])[0]

        return apply(tf.add_n(towers(gradient)) / TOWERS)

    with pytest.raises(InputError, match=r"tower_0/mask \(\w*PyFunc\).*--allow_ops=\w*PyFunc"):
        lifted(build, tmp_path)
    assert not os.path.exists(tmp_path / "lifted")


def test_data_that_the_graph_cannot_take_end_in_one_line(tmp_path):
    def build():
        xs = split_batch()
        rows = tf.split(v1.placeholder(tf.int32, [TOWERS * BATCH], name="rows"), TOWERS)
        grads = towers(lambda i: tf.gradients(sum_of_squares(xs[i] + tf.gather(tf.eye(3), rows[i])), [weights()])[0])
        return apply(tf.add_n(grads) / TOWERS)

    class TooLarge(LiftedSynthetic):
        def shards(self, step):
            shards = super().shards(step)
            return [dict(shard, rows=shard["rows"] + 3) for shard in shards]

    assert_same(lifted(build, tmp_path))  # rows below 3 are made up: the graph says how many there are
    setup = setup_of(str(tmp_path / "lifted"), make_source=TooLarge)
    for program in (setup.legacy_program(), setup.modern_program()):
        with program, pytest.raises(InputError, match="does not run here with these data"):
            program.step()


def test_a_run_that_fails_names_the_scalars_that_were_made_up(tmp_path):
    """A scalar that sizes depend on is made up, unless it is given."""

    def build():
        xs, rows = split_batch(), v1.placeholder(tf.int32, [], "rows")
        shape = tf.stack([rows * 2, 3])
        grads = towers(lambda i: tf.gradients(sum_of_squares(tf.reshape(xs[i], shape)), [weights()])[0])
        return apply(tf.add_n(grads) / TOWERS)

    made = lifted(build, tmp_path)
    for settings, hint in ({}, "; made up: rows; give .* --settings"), ({"rows": 5}, r"(?!.*--settings)"):
        source = functools.partial(LiftedSynthetic, settings=settings)
        setup = dataclasses.replace(made, make_source=source)
        for program in (setup.legacy_program(), setup.modern_program()):
            with program, pytest.raises(InputError, match=f"^{hint}" if settings else hint):
                program.step()
    assert_same(
        dataclasses.replace(made, make_source=functools.partial(LiftedSynthetic, settings={"rows": BATCH // 2})), 2
    )


def test_an_optimizer_written_by_hand(tmp_path):
    """No update op at all: moments and weights are assigned, as OpenAI's programs did."""

    def build():
        xs = split_batch()
        gradient = tf.add_n(towers(lambda i: tf.gradients(sum_of_squares(xs[i]), [weights()])[0]))
        moment = v1.get_variable(
            "moment", [3, 2], initializer=v1.zeros_initializer(), trainable=False, use_resource=False
        )
        moved = 0.9 * moment + 0.1 * gradient
        return v1.group(v1.assign(moment, moved), v1.assign(weights(), weights() - 0.1 * moved))

    setup = lifted(build, tmp_path, train_op=())
    plan = setup.job.workload.plan
    assert plan.towers == TOWERS and [v.role for v in plan.variables if v.name == "net/w"] == ["weight"]
    assert [(c.weight, c.kind) for c in plan.phases[0].combine] == [("net/w", "sum")]
    assert_same(setup)
    with setup_of(str(tmp_path / "lifted"), replicas=3).modern_program() as program:
        program.step()
