"""Update ops with their gradients, learning rates and conditions, on graphs that a few ops of TensorFlow 1.x make."""

import pytest
import tensorflow as tf

from tests.legacy.saved.analysis.described_effects import described, variable
from workloads.lifted.plan import Condition
from workloads.support.errors import InputError

v1 = tf.compat.v1


def test_an_update_rule_names_its_gradient_and_learning_rate():
    def build():
        v1.train.MomentumOptimizer(0.5, 0.75).apply_gradients([(tf.constant([1.0, 1.0], name="g"), variable("w"))])

    effect = described(build)[2]["Momentum/update_w/ApplyMomentum"]
    assert effect.op == "ApplyMomentum" and effect.writes == ["w", "w/Momentum"]
    assert effect.values == ["Momentum/learning_rate:0", "g:0", "Momentum/momentum:0"]
    assert (effect.gradient, effect.gradient_at) == ("g:0", 1)
    assert (effect.learning_rate, effect.learning_rate_at) == ("Momentum/learning_rate:0", 0)
    assert effect.condition is None


def test_weights_that_are_no_float32_have_one_learning_rate():
    def build():
        weights = [v1.get_variable(name, initializer=tf.ones([2], tf.float64), use_resource=False) for name in "wv"]
        gradients = [tf.ones([2], tf.float64) for _ in weights]
        v1.train.GradientDescentOptimizer(0.1).apply_gradients(zip(gradients, weights))

    effects = described(build)[2]
    (rate,) = {effect.learning_rate for effect in effects.values()}  # of two equal casts, the first
    assert rate.startswith("GradientDescent/update_w/")


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


def test_an_update_in_an_inner_cond_may_wait_for_one_in_the_outer():
    """As a loss scale that is raised after every so many good steps: the inner branch begins after the update."""

    def build():
        w, scale, steps = variable("w"), variable("scale"), variable("steps")

        def finite():
            with tf.control_dependencies([v1.assign_sub(w, [1.0, 1.0])]):
                enough = tf.equal(v1.assign_add(steps, [1.0, 1.0])[0], 4.0, "enough")
                return tf.group(
                    v1.cond(enough, lambda: tf.group(v1.assign(scale, scale * 2.0, name="raised")), tf.no_op)
                )

        v1.cond(v1.placeholder(tf.bool, [], "finite"), finite, tf.no_op)

    effects = {effect.writes[0]: effect for effect in described(build)[2].values()}
    outer = Condition("finite:0", True)
    assert effects["scale"].conditions == (outer, Condition("cond/enough:0", True))
    assert effects["w"].conditions == effects["steps"].conditions == (outer,)


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
