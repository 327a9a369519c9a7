"""Roles of variables, on graphs that a few ops of TensorFlow 1.x make."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.roles import classify_variables
from tests.legacy.saved.analysis.described_effects import described, variable

v1 = tf.compat.v1


def roles_of(build, tower_of=lambda name: None, trainable=("w",), is_alone=False):
    """{variable: (role, of, tower)}; all variables are used."""
    graph, state, effects = described(build, trainable)
    for name in [name for name in state.writes if name.endswith("/Assign")]:
        del state.writes[name]  # the initializer is not part of a step
    found = classify_variables(graph, state, list(effects.values()), tower_of, set(state.variables), is_alone=is_alone)
    return {entry.name: (entry.role, entry.of, entry.tower) for entry in found}


def test_weights_slots_averages_and_statistics_are_recognised_by_their_updates():
    def build():
        w, step = variable("w"), variable("global_step", [0.0, 0.0], trainable=False)
        v1.train.AdamOptimizer(0.5).apply_gradients([(tf.constant([1.0, 1.0]), w)])
        v1.train.ExponentialMovingAverage(0.5).apply([w])
        v1.assign_add(step, [1.0, 1.0])

    assert roles_of(build) == {
        "w": ("weight", "", None),
        "global_step": ("statistic", "", None),
        "beta1_power": ("slot", "", None),  # of all weights
        "beta2_power": ("slot", "", None),
        "w/Adam": ("slot", "w", None),
        "w/Adam_1": ("slot", "w", None),
        "w/ExponentialMovingAverage": ("average", "w", None),
    }


def test_powers_that_are_cast_to_the_type_of_the_weights_are_slots():
    def build():
        w = v1.get_variable("w", initializer=tf.constant([1.0, 2.0], tf.float64), use_resource=False)
        v1.train.AdamOptimizer(0.5).apply_gradients([(tf.constant([1.0, 1.0], tf.float64), w)])

    found = roles_of(build)
    assert {found["beta1_power"], found["beta2_power"]} == {("slot", "", None)}


@pytest.mark.parametrize(
    "update, role, of",
    [
        (lambda rate, power: rate / (1.0 - power), "slot", ""),
        (lambda rate, power: rate * power, "statistic", ""),  # a learning rate that falls
    ],
)
@pytest.mark.parametrize("resource", [True, False])
def test_powers_that_an_adam_of_rows_takes_from_one_are_slots_of_all_weights(update, role, of, resource):
    def build():
        w, _ = variable("w"), variable("other")
        power = v1.get_variable("power", [], use_resource=resource, trainable=False)
        gradient = tf.gradients(tf.reduce_sum(tf.square(w)), [w])[0]
        moved = v1.assign_sub(w, update(0.1, power) * gradient)
        with tf.control_dependencies([moved]):
            v1.assign(power, power * 0.9)

    assert roles_of(build)["power"] == (role, of, None)


def test_moments_that_an_update_reads_as_they_are_assigned_are_slots():
    """The larger moment of AMSGrad is made of the second moment."""

    def build():
        w, m, v, largest = variable("w"), *(variable(name, trainable=False) for name in ("m", "v", "largest"))
        gradient = tf.gradients(tf.reduce_sum(tf.square(w)), [w])[0]
        first, second = v1.assign(m, 0.5 * m + gradient), v1.assign(v, 0.5 * v + tf.square(gradient))
        v1.assign_sub(w, first / tf.sqrt(v1.assign(largest, tf.maximum(largest, second))))

    slots = {name: role for name, role in roles_of(build).items() if name != "w"}
    assert slots == {name: ("slot", "w", None) for name in ("m", "v", "largest")}


def test_moments_of_rows_and_columns_are_slots_and_numbers_that_have_no_dimension_of_the_weight_are_none():
    """As of Adafactor; `count` is a number that the update takes, too."""

    def build():
        w = variable("w", [[1.0, 2.0, 3.0]] * 2)
        rows, columns = variable("rows", [1.0] * 2, trainable=False), variable("columns", [1.0] * 3, trainable=False)
        count = variable("count", [1.0] * 4, trainable=False)
        square = tf.square(tf.gradients(tf.reduce_sum(tf.square(w)), [w])[0])
        first = v1.assign(rows, 0.5 * rows + tf.reduce_mean(square, 1))
        second = v1.assign(columns, 0.5 * columns + tf.reduce_mean(square, 0))
        counted = tf.reduce_sum(v1.assign(count, count + 1.0))
        v1.assign_sub(w, square / (first[:, None] * second[None] * counted))

    roles = roles_of(build)
    assert [roles[name] for name in ("rows", "columns")] == [("slot", "w", None)] * 2
    assert roles["count"][0] == "statistic"


def test_what_is_moved_towards_a_weight_of_another_shape_is_no_average():
    def build():
        w, mean = variable("w"), variable("mean", [1.0], trainable=False)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.constant([1.0, 1.0]), w)])
        v1.assign_sub(mean, mean - tf.reduce_mean(w, keepdims=True))

    assert roles_of(build)["mean"] == ("statistic", "", None)


def normalized(shape):
    """A program that moves `mean` to the mean of what a fused normalization takes, which takes a weight besides."""

    def build():
        w, mean = variable("w"), variable("mean", trainable=False)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.constant([1.0, 1.0]), w)])
        data = tf.broadcast_to(v1.placeholder(tf.float32, shape, "x"), [4, 1, 1, 2])
        _, moment, _ = v1.nn.fused_batch_norm(data, tf.constant([1.0, 1.0]), w)
        v1.assign_sub(mean, (mean - moment) * 0.5)

    return build


def test_the_moving_mean_of_data_is_no_average_of_the_weight_that_its_op_takes():
    assert roles_of(normalized([4, 1, 1, 2]))["mean"] == ("statistic", "", None)
    assert roles_of(normalized([]))["mean"] == ("average", "w", None)  # a fed number, as of a decay, is no data


def frozen_average(change=None):
    """A program with an average of a frozen variable `f`; `change(f)` changes it, too."""

    def build():
        w, f = variable("w"), variable("f", trainable=False)
        counter = v1.get_variable("step", initializer=3.0, use_resource=False, trainable=False)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.constant([1.0, 1.0]), w)])
        v1.train.ExponentialMovingAverage(0.5, counter).apply([f])
        change and change(f)

    return build


def test_an_average_of_a_frozen_weight_is_an_average():
    assert roles_of(frozen_average())["f/ExponentialMovingAverage"] == ("average", "f", None)


def test_an_average_of_what_the_step_changes_is_a_statistic():
    found = roles_of(frozen_average(lambda f: v1.assign(f, [0.0, 1.0])))
    assert found["f/ExponentialMovingAverage"] == ("statistic", "", None)


def test_what_is_multiplied_by_a_frozen_variable_is_no_average():
    def build():
        w, factor, mean = variable("w"), variable("factor", trainable=False), variable("mean", trainable=False)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.constant([1.0, 1.0]), w)])
        v1.assign(mean, mean * factor)

    assert roles_of(build)["mean"] == ("statistic", "", None)


def test_what_is_computed_from_very_many_tensors_is_no_average():
    def build(depth):
        w, average = variable("w"), variable("average", trainable=False)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.constant([1.0, 1.0]), w)])
        value = average.value() - w
        for _ in range(depth):
            value = tf.negative(value)
        v1.assign_sub(average, value)

    assert roles_of(lambda: build(150))["average"] == ("average", "w", None)
    assert roles_of(lambda: build(250))["average"] == ("statistic", "", None)


def carried(read_by_gradient, assigned_by_tower=True):
    """A program in which tower 0 multiplies its gradient by a variable `s`, and `s` is then assigned."""

    def build():
        w, s = variable("w"), variable("s", trainable=False)
        with v1.name_scope("tower_0"):
            x = v1.placeholder(tf.float32, [2], "x")
            gradient = tf.multiply(x, s if read_by_gradient else 2.0, name="gradient")
            new = tf.tanh(x + s, name="new")
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(gradient, w)])
        v1.assign(s, new if assigned_by_tower else tf.constant([0.0, 1.0]), name="carry")

    return build


def in_tower_0(name):
    return 0 if name.startswith("tower_0/") else None


@pytest.mark.parametrize(
    "build, expected",
    [
        (carried(True), ("state", "", 0)),
        (carried(False), ("statistic", "", None)),  # no gradient depends on it: a moving mean
        (carried(True, assigned_by_tower=False), ("statistic", "", None)),
    ],
)
def test_a_towers_state_is_read_for_its_gradient_and_assigned_by_it(build, expected):
    assert roles_of(build, in_tower_0)["s"] == expected


def test_a_state_that_two_towers_use_belongs_to_neither():
    build = carried(True)
    assert roles_of(build, lambda name: {"tower_0/gradient": 0, "tower_0/new": 1}.get(name))["s"][0] == "statistic"


@pytest.mark.parametrize("is_alone, share, expected", [(True, 0.5, None), (False, 0.5, 0), (True, 0.0, 0)])
def test_a_moving_mean_that_the_one_tower_reads_is_a_statistic_and_what_is_moved_otherwise_is_its_state(
    is_alone, share, expected
):
    """As the mean that TensorFlow 0.12 shifts the moments by; `share` 0 stands for a change that is no moving mean."""

    def build():
        w, s = variable("w"), variable("s", trainable=False)
        with v1.name_scope("tower_0"):
            x = v1.placeholder(tf.float32, [2], "x")
            gradient = tf.multiply(x, s, name="gradient")
            new = tf.multiply(s - x, share, name="new") if share else tf.tanh(x - s, name="new")
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(gradient, w)])
        v1.assign_sub(s, new)

    role = "statistic" if expected is None else "state"
    assert roles_of(build, in_tower_0, is_alone=is_alone)["s"] == (role, "", expected)
