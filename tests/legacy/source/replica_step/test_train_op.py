"""Text of a train op's function, in both styles, with its lines and tables."""

import pytest
import tensorflow as tf

from legacy.source.lines.line_breaks import WIDTH
from legacy.source.replica_step.differentiation import DIFFERENTIATE
from legacy.source.replica_step.lines import clip_lines, dict_text, has_rows, listed
from legacy.source.replica_step.tables import slot_lines, table_lines
from legacy.source.replica_step.train_op import train_op_text, with_short_lines
from legacy.source.source import STEP_STYLES, STYLES
from legacy.source.update.recovered import recover_updates
from tests import old_programs
from workloads.lifted.workload import load_lift
from workloads.workload import Clip


@pytest.fixture(scope="module")
def update():
    lift = load_lift(old_programs.lifted("i_odd_combine"))
    return recover_updates(lift.plan, lift.graph, {}, [])


def test_styles_differ_in_how_they_differentiate(update):
    assert set(DIFFERENTIATE) == set(STYLES) == set(STEP_STYLES)
    (one,) = update.updates
    standalone, workload = [set(train_op_text(one, "", style).splitlines()) for style in ("standalone", "workload")]
    assert standalone - workload == {
        '    gradients = tf.gradients(loss, [values[name] for name in WEIGHTS], unconnected_gradients="zero")',
        "    values = scope.values",
    }
    assert workload - standalone == {"    gradients = scope.gradients(loss, WEIGHTS)"}


def test_a_list_and_a_table_are_in_lines_that_fit():
    assert listed("W", ["a", "b"]) == ['W = ["a", "b"]']
    many = listed("W", [f"layer_{n}/weights" for n in range(12)])
    assert many[0] == "W = [" and many[-1] == "]" and max(map(len, many)) <= 120
    assert table_lines("T", {"n": "((), 0, tf.int64)"}, "note") == ['T = {"n": ((), 0, tf.int64)}  # note']
    assert dict_text({"Adam": 0.0}) == '{"Adam": 0.0}'


def test_weights_with_equal_slots_stand_together():
    slots = {"a": {"Adam": 0.0}, "b": {"Adam": 0.0}, "c": {"Adam": 1.0}}
    assert slot_lines(slots, {"WEIGHTS": ["a", "b"]}) == [
        'ADAM_WEIGHTS = ["c"]',
        'SLOTS = [(WEIGHTS, {"Adam": 0.0}), (ADAM_WEIGHTS, {"Adam": 1.0})]',
    ]
    assert slot_lines({}, {}) == []


def test_clipping_and_rows():
    assert clip_lines(None) == []
    assert clip_lines(Clip(5.0)) == ["gradients, _ = tf.clip_by_global_norm(gradients, 5.0)"]
    assert has_rows("x = tf.gather(table, ids)") and not has_rows("x = tf.matmul(a, b)")
    assert callable(tf.gather)


def test_a_list_of_slots_has_a_name_of_its_own():
    """A train op may be called as a slot is: Adam."""
    slots = {"g": {"Adam": 0.0}, "d": {"Adam": 0.0}}
    assert slot_lines(slots, {"ADAM_WEIGHTS": ["d"]})[0] == 'ADAM_WEIGHTS_2 = ["g", "d"]'
    assert slot_lines(slots, {})[0] == 'ADAM_WEIGHTS = ["g", "d"]'


def test_a_long_sum_of_lists_of_weights_has_a_name():
    groups = [f"{'LONG_NAME_' * 3}{n}_WEIGHTS" for n in range(4)]
    line = f"gradients = dict(zip({' + '.join(groups)}, gradients))"
    made = with_short_lines(["loss = 1", line], groups)
    assert made[0] == "loss = 1" and made[1] == "weights = (" and max(map(len, made)) <= WIDTH
    assert made[-1] == "gradients = dict(zip(weights, gradients))"
    assert with_short_lines(["loss = 1", line], groups[:1]) == ["loss = 1", line]
