"""Changes on the way to gradients come before those of the weights, also where the gradients are given."""

import pytest
import tensorflow as tf

from legacy.rerun.gradient_order import given_gradients, with_order_of_gradients
from tests.legacy.saved.facts.tower_pages import descend, parts, program, variable
from tests.legacy.variants.programs import lifted
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import ControlDependency

v1 = tf.compat.v1


def power_iteration(is_beside, returns_loss=False):
    """Returns a function that makes two towers, the first of which sets a vector from the weight and itself."""

    def build():
        x, moved, losses = parts("x", 8, 3), [], []

        def loss(tower):
            w, u = variable("w", 3, 2), variable("u", 2, 1, trainable=False, value=1.0)
            new = tf.stop_gradient(tf.nn.l2_normalize(tf.matmul(w, tf.matmul(w, u)[:, :1], transpose_a=True)))
            moves = [v1.assign(u, new, name="move")] if not tower else []
            moved.extend(moves)
            with tf.control_dependencies([] if is_beside else moves):
                losses.append(tf.reduce_mean(tf.square(tf.matmul(x(tower), tf.identity(w) / tf.norm(new)))))
            return losses[-1]

        def update(pairs):
            descend(pairs)
            v1.group(v1.get_default_graph().get_operation_by_name("train"), *moved, name="step")

        program(loss, update)()
        if returns_loss:  # as `tf.contrib.layers.optimize_loss` does
            with tf.control_dependencies([v1.get_default_graph().get_operation_by_name("train")]):
                return tf.identity(sum(losses)).op
        return v1.get_default_graph().get_operation_by_name("step" if is_beside else "train")

    return build


@pytest.mark.parametrize(
    "is_beside, returns_loss, ordered", [(False, False, True), (False, True, True), (True, False, False)]
)
def test_a_change_that_the_loss_waits_for_comes_before_the_update_or_else_its_value_does(
    is_beside, returns_loss, ordered, tmp_path
):
    lift = lifted(power_iteration(is_beside, returns_loss), tmp_path).job.workload
    (phase,) = lift.plan.phases
    (moved,) = [effect.node for effect in phase.effects if effect.writes == ["u"]]
    (update,) = [effect.node for effect in phase.effects if effect.writes == ["w"]]
    assert phase.combine[0].tensor in given_gradients(lift.plan)
    (found,) = with_order_of_gradients(lift, None)
    added = [one for one in found if one not in phase.control_dependencies]
    (value,) = [effect.values[0] for effect in phase.effects if effect.writes == ["u"]]
    assert added == [ControlDependency(moved if ordered else parse_tensor_name(value).node, update)]
    assert with_order_of_gradients(lift, [[ControlDependency("a", "b")]])[0][0] == ControlDependency("a", "b")
