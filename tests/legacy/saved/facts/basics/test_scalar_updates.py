"""Updates evaluated with one number in place of each array."""

import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.scalar_updates import ScalarUpdates
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def build():
    w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
    kept = v1.get_variable("kept", [2], None, v1.zeros_initializer(), trainable=False, use_resource=False)
    rate = v1.get_variable("rate", initializer=0.5, trainable=False, use_resource=False)
    count = v1.get_variable("count", initializer=0, trainable=False, use_resource=False)
    x = v1.placeholder(tf.float32, [2], "x")
    (gradient,) = tf.gradients(tf.reduce_sum(tf.multiply(x, w)), [w])
    moved = v1.assign(kept, 0.5 * kept + tf.identity(gradient, name="gradient"), name="moved")
    update = v1.assign_sub(w, rate * moved / (1.0 + tf.cast(count, tf.float32)), name="update")
    tf.multiply(kept, tf.nn.softmax(gradient), name="no_arithmetic")
    with tf.control_dependencies([update]):
        v1.assign_add(count, 1, name="train")


def test_an_update_takes_what_the_run_assigned_and_what_no_step_changes():
    analysed = AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "g", ["train"]))
    (phase,) = analysed.phases
    (value,) = next(effect.values for effect in phase.effects if effect.node == "update")
    updates, given = ScalarUpdates(analysed, phase), {"kept": 4.0, "gradient": 2.0}
    assert updates.value(value, given) == 0.5 * (0.5 * 4.0 + 2.0)
    assert updates.value(value, given, steps=3.0) == 0.5 * (0.5 * 4.0 + 2.0) / 4.0
    assert updates.value(value, {"gradient": 2.0}) is None  # the step changes `kept`, which has no number
