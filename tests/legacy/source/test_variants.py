"""Sources of small towers with traits of their time: each is written, and proven when it is written."""

import re

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.lifting import LiftOptions, lift_graph
from legacy.source.loss_proof import setting_values
from legacy.source.source import SourceOptions, source_of_analysis
from tests.legacy.source.trained import assert_trains_alike, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, apply, lifted, split_batch, sum_of_squares, towers, weights
from workloads.lifted.plan import Input, Plan
from workloads.support.errors import InputError

v1 = tf.compat.v1


def source(build, tmp_path, settings=()):
    """The source of a program that `build` makes in a graph of its own; it returns the train op."""
    with tf.Graph().as_default() as graph:
        graph.seed = 1
        name = build().name
        path = str(tmp_path / "graph.meta")
        v1.train.export_meta_graph(path)
    made = []
    given = dict(settings)
    use = lambda *found: made.append(source_of_analysis(*found, SourceOptions(given)))  # noqa: E731
    lift_graph(path, None, options=LiftOptions([name]), use=use)
    proof = "loss, gradients and statistics of each tower have the old graph's bits on made-up numbers"
    assert proof in made[0].notes
    return made[0].text


@pytest.fixture
def old_control_flow():
    """Branches are Switch and Merge, as in the programs of the time."""
    was_v2 = v1.control_flow_v2_enabled()
    v1.disable_control_flow_v2()
    yield
    if was_v2:
        v1.enable_control_flow_v2()


def mean_gradient(loss):
    """The train op of the mean of the towers' gradients of `loss(tower)`."""
    gradients = towers(lambda tower: tf.gradients(loss(tower), [weights()])[0])
    return apply(tf.add_n(gradients) / TOWERS)


def moving_mean():
    initializer = v1.zeros_initializer()
    return v1.get_variable("mean", [2], initializer=initializer, trainable=False, use_resource=False)


def updated_by(numbers):
    """A program in which these towers update a moving mean."""

    def build():
        xs, mean = split_batch(), moving_mean()
        updates = []

        def loss(tower):
            hidden = tf.matmul(xs[tower], weights())
            updates.append(v1.assign_sub(mean, 0.25 * (mean - tf.reduce_mean(hidden, 0))).op)
            return tf.reduce_sum(tf.tanh(hidden) ** 2)

        train = mean_gradient(loss)
        return v1.group(train, *[updates[number] for number in numbers])

    return build


@pytest.mark.parametrize("numbers, policy", [([1], "last_tower"), ([0, 1], "towers_in_turn"), ([0], "")])
def test_the_towers_that_update_a_statistic_are_the_policy(numbers, policy, tmp_path):
    text = source(updated_by(numbers), tmp_path)
    assert (f'statistics: str = "{policy}"' in text) == bool(policy)
    assert ("lambda now: now - 0.25 * (now - " in text) == (policy == "towers_in_turn")


def test_normal_noise_and_the_step_are_the_scopes(tmp_path):
    def build():
        xs, step = split_batch(), v1.train.get_or_create_global_step()

        def loss(tower):
            noise = v1.random_normal([BATCH, 3], stddev=0.5)
            return sum_of_squares(xs[tower] + noise) * tf.cast(step, tf.float32)

        return v1.group(mean_gradient(loss), v1.assign_add(step, 1))

    text = source(build, tmp_path)
    assert "scope.normal(" in text and "tf.cast(scope.step, tf.float32)" in text


def test_constants_that_differ_from_tower_to_tower_are_chosen_by_the_replica(tmp_path):
    def build():
        xs, step = split_batch(), v1.train.get_or_create_global_step()

        def loss(tower):
            seed = tf.stack([tf.constant(100 + tower), tf.cast(step, tf.int32)])
            kept = tf.cast(tf.raw_ops.StatelessRandomUniform(shape=[BATCH, 3], seed=seed) >= 0.25, tf.float32)
            return sum_of_squares(xs[tower] * kept) * (0.5 + tower)

        return v1.group(mean_gradient(loss), v1.assign_add(step, 1))

    text = source(build, tmp_path)
    assert "seed = tf.stack([(100, 101)[scope.replica % 2], tf.cast(scope.step, tf.int32)])" in text
    assert "(0.5, 1.5)[scope.replica % 2]" in text and "raw_ops" not in text


def term_of(number):
    """A program whose penalty only one tower has, as one that a Python loop's variable leaks into."""

    def build():
        xs = split_batch()

        def loss(tower):
            return sum_of_squares(xs[tower]) + (tf.nn.l2_loss(weights()) if tower == number else 0.0)

        return mean_gradient(loss)

    return build


@pytest.mark.parametrize("number, condition", [(0, "0"), (1, "scope.replicas - 1")])
def test_a_term_that_one_tower_has_is_the_first_or_the_last_replicas(number, condition, tmp_path):
    text = source(term_of(number), tmp_path)
    assert f"if scope.replica == {condition} else 0.0)" in text and text.count("scope.replica ") == 1


@pytest.mark.parametrize("number", [0, 1])
def test_a_term_that_one_tower_has_trains_with_the_bits_of_the_lift(number, tmp_path):
    setup = lifted(term_of(number), tmp_path)
    text = source_of(setup, "standalone").text
    assert ("def replicas(self):" in text) == (number == 1)
    assert_trains_alike(setup, tmp_path, text=source_of(setup, "standalone"))


def test_a_term_of_all_towers_does_not_train_alike(tmp_path):
    setup = lifted(term_of(1), tmp_path)
    made = source_of(setup, "standalone")
    wrong = made._replace(text=made.text.replace("== scope.replicas - 1", "< scope.replicas"))
    with pytest.raises(AssertionError, match="net/w"):
        assert_trains_alike(setup, tmp_path, text=wrong)


def test_a_cond_is_a_choice_between_two_values(tmp_path, old_control_flow):
    def build():
        xs, step = split_batch(), v1.train.get_or_create_global_step()

        def loss(tower):
            x = xs[tower]
            x = v1.cond(tf.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: tf.square(x))
            return sum_of_squares(x) * v1.cond(step < 3, lambda: tf.constant(1.0), lambda: tf.constant(0.5))

        return v1.group(mean_gradient(loss), v1.assign_add(step, 1))

    text = source(build, tmp_path)
    assert "x = tf.where(tf.reduce_sum(x) > 0.0, x * 2.0, tf.square(x))" in text
    assert "* tf.where(scope.step < 3, 1.0, 0.5)" in text


def kept_from_zero(branch):
    """A program with a branch that is not taken where it would not be finite, in a file of 1.x's control flow."""

    def build():
        xs = split_batch()

        def loss(tower):
            largest = tf.reduce_max(tf.abs(xs[tower])) * tf.reduce_sum(weights() ** 2)
            return sum_of_squares(xs[tower]) * v1.cond(largest > 0.0, lambda: branch(largest), lambda: largest)

        return mean_gradient(loss)

    return build


@pytest.mark.parametrize(
    "branch, text",
    [
        (tf.math.log, "tf.math.log(largest)"),
        (lambda x: 2.0 / x, "2.0 / "),
        (lambda x: v1.cond(x > 4.0, lambda: tf.math.log(x), lambda: tf.sqrt(x)), "lambda: tf.cond("),
    ],
)
def test_what_is_not_finite_for_all_numbers_is_computed_in_its_branch_only(branch, text, tmp_path, old_control_flow):
    found = source(kept_from_zero(branch), tmp_path)
    assert "tf.cond(" in found and "tf.where(" not in found


def test_such_a_branch_trains_with_the_bits_of_the_lift(tmp_path, old_control_flow):
    setup = lifted(kept_from_zero(tf.math.log), tmp_path)
    made = source_of(setup, "standalone")
    assert_trains_alike(setup, tmp_path, text=made)
    wrong = made._replace(text=made.text.replace("> 0.0", "> 1e9"))
    with pytest.raises(AssertionError, match="net/w"):
        assert_trains_alike(setup, tmp_path, text=wrong)


def test_what_is_not_finite_before_several_results_is_refused_in_a_branch(tmp_path, old_control_flow):
    def build():
        xs = split_batch()

        def loss(tower):
            x = tf.matmul(xs[tower], weights())
            mean, _ = tf.nn.moments(x, [0])
            scaled = lambda: tf.add_n(tf.split(tf.math.log(x), 2, axis=1))  # noqa: E731
            return tf.reduce_sum(v1.cond(mean[0] > 0.0, scaled, lambda: x[:, :1]) ** 2)

        return mean_gradient(loss)

    with pytest.raises(InputError, match=r"model: a branch of '\S+' keeps '\S+' \(\w+\) from some numbers"):
        source(build, tmp_path)


def test_a_choice_that_is_always_the_same_is_its_branch(tmp_path, old_control_flow):
    def build():
        xs = split_batch()

        def loss(tower):
            known = tf.shape(xs[tower])[1] > 2
            x = v1.cond(known, lambda: xs[tower] * 2.0, lambda: tf.concat([xs[tower], tf.zeros([BATCH, 0])], 1))
            return sum_of_squares(x)

        return mean_gradient(loss)

    text = source(build, tmp_path)
    assert "* 2.0" in text and "tf.where" not in text and "tf.concat" not in text


def test_sizes_that_a_graph_leaves_open_are_fixed_also_those_of_its_noise(tmp_path):
    def build():
        xs = tf.split(v1.placeholder(tf.float32, [None, None, 3], name="x"), TOWERS)

        def loss(tower):
            hidden = tf.tanh(tf.tensordot(xs[tower], weights(), [[2], [0]]))
            return tf.reduce_sum(v1.nn.dropout(hidden, keep_prob=0.5) ** 2)

        return mean_gradient(loss)

    text = source(build, tmp_path)
    assert "InputSpec((6, 3))" in text and "Sizes that the old graph left open are fixed" in text
    assert "[batch_size, 6, 2]" in text


def test_one_optimizer_on_the_mean_of_the_losses_is_the_mean_of_the_gradients(tmp_path):
    def build():
        xs = split_batch()
        losses = towers(lambda tower: sum_of_squares(xs[tower]))
        return v1.train.MomentumOptimizer(0.1, 0.9).minimize(tf.add_n(losses) / TOWERS)

    text = source(build, tmp_path)
    assert "combine" not in text and "optimizers.Momentum(momentum=0.9)" in text


def test_a_statistic_of_a_tower_with_a_scalar_that_all_are_fed_is_that_towers(tmp_path):
    def build():
        xs, mean, keep = split_batch(), moving_mean(), v1.placeholder(tf.float32, [], name="keep_prob")
        updates = []

        def loss(tower):
            hidden = tf.matmul(xs[tower] * keep, weights())
            updates.append(v1.assign_sub(mean, 0.25 * (mean - tf.reduce_mean(hidden, 0))).op)
            return tf.reduce_sum(tf.tanh(hidden) ** 2)

        train = mean_gradient(loss)
        return v1.group(train, updates[0])

    text = source(build, tmp_path)
    assert 'scope.update("mean", mean' in text and "(Workload):" in text


def test_an_integer_that_was_fed_stays_one(tmp_path):
    def build():
        xs, first = split_batch(), v1.placeholder(tf.int32, [], name="first")
        return mean_gradient(lambda tower: sum_of_squares(xs[tower][:, :1] * tf.slice(xs[tower], [first, 0], [1, 3])))

    text = source(build, tmp_path)
    assert "FIRST = 1  # fed at every step" in text and "tf.slice(" in text


def test_arithmetic_of_scalars_that_were_fed_alone_has_the_graphs_digits(tmp_path):
    def build():
        xs, rate = split_batch(), v1.placeholder(tf.float32, [], name="rate")
        keep = 1.0 - rate  # 0.6, which is another number in double precision
        return mean_gradient(lambda tower: sum_of_squares(xs[tower] * (1.0 / (1.0 - keep)) * rate))

    text = source(build, tmp_path, settings={"rate": "0.4"})
    assert "tf.constant(RATE)" in text


def test_values_of_scalars_are_given_or_assumed_in_their_types():
    entries = [Input(name, dtype, [], "setting", 0, [name + ":0"], name) for name, dtype in FED.items()]
    plan = Plan("tiny", 1, "name", None, entries, [], [], [], [], {}, {}, {}, [])
    values, assumed = setting_values(plan, {name.upper(): name for name in FED}, {"first": "3"})
    assert values == {"FIRST": 3, "KEEP_PROB": 0.5} and assumed == ["keep_prob=0.5"]
    assert isinstance(values["FIRST"], int)
    batch = {"first": np.array(7, np.int32), "keep_prob": np.array(0.25, np.float32)}
    values, assumed = setting_values(plan, {name.upper(): name for name in FED}, {"first": "3"}, [batch])
    assert values == {"FIRST": 3, "KEEP_PROB": 0.25} and assumed == ["keep_prob=0.25"]


FED = {"first": "int32", "keep_prob": "float32"}


def test_each_part_that_no_field_describes_has_a_line(tmp_path):
    def build():
        xs, moment = split_batch(), v1.get_variable("moment", [3, 2], trainable=False, use_resource=False)
        gradient = tf.add_n(towers(lambda tower: tf.gradients(sum_of_squares(xs[tower]), [weights()])[0]))
        moved = v1.assign(moment, 0.9 * moment + gradient)
        return v1.group(v1.assign(weights(), weights() - 0.1 * moved))

    lines = source(build, tmp_path).splitlines()
    first = lines.index("The update is written as the old graph computes it, since no named optimizer describes it:")
    assert lines[first + 1].startswith("  * optimizer: written by hand, by Assign")
    assert any(line.startswith("  * updates: 'moment'") for line in lines)


def by_regularizer(gradients, losses):
    """One optimizer on the mean of the losses plus a penalty that no tower computes."""
    return v1.train.MomentumOptimizer(0.1, 0.9).minimize(tf.add_n(losses) / TOWERS + tf.nn.l2_loss(weights()))


def by_decay(gradients, losses):
    """Weight decay that is added to the mean of the gradients."""
    return apply(tf.add_n(gradients) / TOWERS + 0.01 * weights())


@pytest.mark.parametrize(
    "train, reason",
    [
        (by_regularizer, r"(combining: gradients of 'net/w'|loss: gradients of the old graph contain)"),
        (by_decay, r"gradients: '\S+' \(Add\w*\) is not made from gradients alone, but also from net/w"),
    ],
)
def test_what_is_added_outside_of_the_towers_is_named(train, reason, tmp_path):
    def build():
        xs = split_batch()
        losses = towers(lambda tower: sum_of_squares(xs[tower]))
        return train([tf.gradients(loss, [weights()])[0] for loss in losses], losses)

    assert re.search(reason, " ".join(source(build, tmp_path).split()))


@pytest.mark.parametrize("by_hand", [False, True])
def test_sparse_labels_of_sequences_are_proven_with_labels_in_order(by_hand, tmp_path):
    """Also where the parts are placeholders without any shape."""
    parts = [(tf.int64, "indices"), (tf.int32, "values"), (tf.int64, "shape")]

    def build():
        xs = split_batch()

        def loss(tower):
            if by_hand:
                labels = tf.SparseTensor(*[v1.placeholder(dtype, name=f"{part}_{tower}") for dtype, part in parts])
            else:
                labels = v1.sparse_placeholder(tf.int32, name=f"labels_{tower}")
            logits = tf.stack([tf.matmul(xs[tower], weights()) * step for step in (1.0, 0.5, 2.0, -1.0)])
            return tf.reduce_mean(v1.nn.ctc_loss(labels, logits, tf.constant([4] * BATCH)))

        return mean_gradient(loss)

    assert "tf.raw_ops.CTCLoss(" in source(build, tmp_path)


def test_a_rate_that_a_variable_keeps_and_a_step_changes_is_named(tmp_path):
    def build():
        xs, rate = split_batch(), v1.get_variable("rate", initializer=0.5, trainable=False, use_resource=False)
        gradients = towers(lambda tower: tf.gradients(sum_of_squares(xs[tower]), [weights()])[0])
        optimizer = v1.train.GradientDescentOptimizer(rate)
        train = optimizer.apply_gradients([(tf.add_n(gradients) / TOWERS, weights())])
        return v1.group(train, v1.assign(rate, rate * 0.5))

    text = source(build, tmp_path)
    assert "learning rate: 'rate/read:0' is a function of variable 'rate'" in text and 'alpha=values["rate"]' in text


def test_weights_of_an_unknown_initializer_are_named(tmp_path):
    def unknown(shape, dtype, **_):
        return tf.cumsum(v1.random_uniform(shape, dtype=dtype, seed=1))

    def build():
        xs = split_batch()
        with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
            v1.get_variable("w", [3, 2], initializer=unknown, use_resource=False)
        return mean_gradient(lambda tower: sum_of_squares(xs[tower]))

    text = " ".join(source(build, tmp_path).split())
    assert "initializers not recognised, the default stands: net/w" in text.lower()


def test_a_moving_average_may_be_limited_by_a_count_in_float32(tmp_path):
    """`get_variable` makes a float where no dtype is given, as for the counter of many programs of the time."""

    def build():
        xs, initializer = split_batch(), v1.zeros_initializer()
        step = v1.get_variable("global_step", [], initializer=initializer, trainable=False, use_resource=False)
        gradients = towers(lambda tower: tf.gradients(sum_of_squares(xs[tower]), [weights()])[0])
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        train = optimizer.apply_gradients([(tf.add_n(gradients) / TOWERS, weights())], global_step=step)
        with tf.control_dependencies([train]):
            return v1.train.ExponentialMovingAverage(0.75, step).apply([weights()])

    assert "moving_average: Any = MovingAverage(0.75" in source(build, tmp_path)


def test_a_warm_up_in_branches_is_a_function_of_the_step(old_control_flow, tmp_path):
    def build():
        xs, step = split_batch(), v1.train.get_or_create_global_step()
        rate = tf.cond(step < 4, lambda: 0.025 * tf.cast(step, tf.float32), lambda: 0.5 / tf.cast(step, tf.float32))
        gradients = towers(lambda tower: tf.gradients(sum_of_squares(xs[tower]), [weights()])[0])
        optimizer = v1.train.MomentumOptimizer(rate, 0.5)
        return optimizer.apply_gradients([(tf.add_n(gradients) / TOWERS, weights())], step)

    text = source(build, tmp_path)
    assert "return tf.cond(step < 4, " in text and "optimizers.Momentum(" in text


def test_a_function_of_an_array_of_constants_is_none_of_a_number(tmp_path):
    """The first coefficients of a capsule network's routing are the same for all examples."""

    def build():
        xs = split_batch()

        def loss(tower):
            features = tf.tanh(tf.matmul(xs[tower], weights()))
            return tf.reduce_sum(features[:, None] * tf.nn.softmax(tf.zeros([BATCH, 24, 2])))

        return mean_gradient(loss)

    assert "tf.nn.softmax(float(" not in source(build, tmp_path)
