"""Update ops and the roles of variables, on graphs that a few ops of TensorFlow 1.x make."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.roles import classify_variables, describe_effects
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.graph.variables import VariableUses
from tests.legacy.saved.graphs import traced
from workloads.lifted.plan import Condition
from workloads.support.errors import InputError

v1 = tf.compat.v1


def variable(name, value=(1.0, 2.0), trainable=True):
    return v1.get_variable(name, initializer=list(value), use_resource=False, trainable=trainable)


def described(build, trainable=("w",)):
    """(graph, `VariableUses`, {update op: `Effect`}) of what `build` makes, without initializers."""
    graph = traced(build)
    imported = ImportedGraph(graph)
    state = VariableUses(graph, imported, set(trainable))
    names = [name for name in graph.nodes if name in state.writes and not name.endswith("/Assign")]
    return graph, state, {effect.node: effect for effect in describe_effects(graph, imported, state, names)}


def roles_of(build, tower_of=lambda name: None, trainable=("w",)):
    """{variable: (role, of, tower)}; all variables are used."""
    graph, state, effects = described(build, trainable)
    for name in [name for name in state.writes if name.endswith("/Assign")]:
        del state.writes[name]  # the initializer is not part of a step
    found = classify_variables(graph, state, list(effects.values()), tower_of, set(state.variables))
    return {entry.name: (entry.role, entry.of, entry.tower) for entry in found}


def test_an_update_rule_names_its_gradient_and_learning_rate():
    def build():
        v1.train.MomentumOptimizer(0.5, 0.75).apply_gradients([(tf.constant([1.0, 1.0], name="g"), variable("w"))])

    effect = described(build)[2]["Momentum/update_w/ApplyMomentum"]
    assert effect.op == "ApplyMomentum" and effect.writes == ["w", "w/Momentum"]
    assert effect.values == ["Momentum/learning_rate:0", "g:0", "Momentum/momentum:0"]
    assert (effect.gradient, effect.gradient_at) == ("g:0", 1)
    assert (effect.learning_rate, effect.learning_rate_at) == ("Momentum/learning_rate:0", 0)
    assert effect.condition is None


def test_a_scatter_names_its_updates_and_a_plain_assignment_nothing():
    def build():
        w = variable("w")
        v1.scatter_sub(w, tf.constant([0]), tf.constant([3.0], name="rows"), name="scatter")
        v1.assign_add(w, tf.constant([1.0, 1.0], name="one"), name="add")

    effects = described(build)[2]
    assert (effects["scatter"].gradient, effects["scatter"].gradient_at, effects["scatter"].learning_rate_at) == (
        "rows:0",
        1,
        -1,
    )
    assert (effects["add"].gradient, effects["add"].gradient_at) == (None, -1)
    assert effects["add"].values == ["one:0"]


@pytest.mark.parametrize("branch", [True, False])
def test_an_update_in_a_cond_has_its_predicate_and_branch(branch):
    def build():
        w, g = variable("w"), tf.constant([1.0, 1.0], name="g")
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        update, nothing = (lambda: tf.group(optimizer.apply_gradients([(g, w)]))), (lambda: tf.no_op())
        v1.cond(v1.placeholder(tf.bool, [], "p"), *((update, nothing) if branch else (nothing, update)))

    effects = described(build)[2]
    (effect,) = [effect for effect in effects.values() if effect.op == "ApplyGradientDescent"]
    assert effect.condition == Condition("p:0", branch)
    assert effect.gradient == "g:0", "as it is outside of the cond"
    assert effect.learning_rate is None, "it is made inside of the cond"


@pytest.mark.parametrize("computed", [False, True])
def test_an_update_in_nested_conds_has_all_predicates_the_outermost_first(computed):
    def build():
        w, x = variable("w"), v1.placeholder(tf.float32, [], "x")
        p, q = v1.placeholder(tf.bool, [], "p"), v1.placeholder(tf.bool, [], "q")
        update = lambda: tf.group(v1.assign_add(w, [1.0, 1.0]))  # noqa: E731
        v1.cond(p, lambda: v1.cond(tf.greater(x, 0.5, "large") if computed else q, tf.no_op, update), tf.no_op)

    (effect,) = described(build)[2].values()
    assert effect.conditions == (Condition("p:0", True), Condition("cond/large:0" if computed else "q:0", False))


def test_branches_of_several_conditions_and_loops_are_refused():
    def several():
        w, p, q = variable("w"), v1.placeholder(tf.bool, [], "p"), v1.placeholder(tf.bool, [], "q")
        one, two = (tf.raw_ops.Switch(data=tf.constant([1.0, 1.0]), pred=pred).output_true for pred in (p, q))
        v1.assign_add(w, one + two)

    def loop():
        w = variable("w")

        def body(i):
            with tf.control_dependencies([v1.assign_add(w, [1.0, 1.0])]):
                return i + 1

        v1.while_loop(lambda i: i < 3, body, [tf.constant(0)])

    with pytest.raises(InputError, match="in a branch of several conditions at once"):
        described(several)
    with pytest.raises(InputError, match="inside a while loop, which is not lifted"):
        described(loop)


def test_weights_slots_averages_and_statistics_are_told_by_their_updates():
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


def test_what_is_moved_towards_a_weight_of_another_shape_is_no_average():
    def build():
        w, mean = variable("w"), variable("mean", [1.0], trainable=False)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.constant([1.0, 1.0]), w)])
        v1.assign_sub(mean, mean - tf.reduce_mean(w, keepdims=True))

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
