"""Changed constants of the step act by the numbers that data meet: fewer steps show what a step for each shows."""

import contextlib
import types

import numpy as np
import pytest
import tensorflow as tf

from parity.comparison.tour import Visit
from parity.coverage.graph.step_numbers import NumberChange, ShownChanges, StepNumbers, number_change
from parity.coverage.measuring.detector import detects_any_bit
from parity.coverage.mutant import Effect
from parity.coverage.observed_step import ObservedStep
from parity.verdict.measurement_plan import _towers
from tests.legacy.saved.graphs import graph_of
from tests.legacy.variants.programs import lifted, mean_of, plain, split_batch, towers, weights

v1 = tf.compat.v1


def change(after, before=1.0, name="keep:0", dtype=np.float32):
    return NumberChange({name: np.asarray(before, dtype)}, {name: np.asarray(after, dtype)})


@pytest.mark.parametrize(
    "far, near, expected",
    [
        (change(1.5), change(1.25), True),
        (change(1.5), change(1.5), True),
        (change(1.25), change(1.5), False),
        (change(0.5), change(1.25), False),  # in the other direction
        (change([2.0, 1.5], [1.0, 1.0]), change([1.5, 1.5], [1.0, 1.0]), True),
        (change([2.0, 0.5], [1.0, 1.0]), change([1.5, 1.5], [1.0, 1.0]), False),
        (change(np.inf), change(1.5), False),
        (change(1.5, name="other:0"), change(1.25), False),
        (change(3, 1, dtype=np.int32), change(2, 1, dtype=np.int32), False),  # 3 of 4 examples is no more than 2 of 4
        (change(2, 1, dtype=np.int32), change(2, 1, dtype=np.int32), True),
        (change(True, False, dtype=bool), change(True, False, dtype=bool), True),
    ],
)
def test_a_change_is_beyond_one_of_the_same_numbers(far, near, expected):
    assert far.is_beyond(near) is expected


def test_only_numbers_with_other_bits_are_changed():
    before = {"keep:0": np.float32(1), "rate:0": np.float32(0.0)}
    assert number_change(before, before) == NumberChange({}, {})
    assert number_change(before, {**before, "rate:0": np.float32(-0.0)}).before == {"rate:0": 0.0}


def test_what_was_seen_of_a_smaller_change_is_seen_of_a_larger_one():
    shown, effect = ShownChanges(), Effect("loss", "", np.float32(1), np.float32(2))
    shown.add(change(1.25)).append(effect)
    shown.add(change(0.75))  # tried, and not seen
    assert shown.effects_of(change(1.5)) == [effect] and not shown.effects_of(change(1.125))
    assert not shown.effects_of(change(0.5))


def grown_dropout(weight=1.0):
    """A program whose towers keep fewer numbers as steps go by, as the drop path of an architecture search does."""

    def build():
        xs, count = split_batch(), plain("count", [], 40)

        def gradient(tower):
            whole = tf.cast(tf.cast(count, tf.int64), tf.float32)
            keep = 1.0 - tf.minimum(1.0, whole / tf.cast(100, tf.float32)) * (1.0 - tf.cast(5, tf.float32) / 8.0)
            used = tf.tanh(tf.matmul(xs[tower], weights())) / keep * tf.constant(weight)
            return tf.gradients(tf.reduce_sum(used), [weights()])[0]

        update = mean_of(towers(gradient))
        return tf.group(update, v1.assign_add(count, 1), name="train")

    def plain(name, shape, value):
        return v1.get_variable(name, shape, tf.int32, v1.constant_initializer(value), trainable=False)

    return build


@contextlib.contextmanager
def towers_and_visit(build, tmp_path):
    """The towers of a program that `build` makes, and a visit of the state it starts from."""
    setup = lifted(build, tmp_path)
    with contextlib.closing(_towers(setup)) as program:
        state = program._program.state()
        visit = Visit("another state", state)
        yield program, ObservedStep(setup.job, state, program._program.step(), "float32", visit)


def seen(mutants, step):
    return {f"{m.name}, {m.change}": any(detects_any_bit(effect) for effect in m.effects(step)) for m in mutants}


def test_fewer_steps_show_what_a_step_for_each_constant_shows(tmp_path, monkeypatch):
    with towers_and_visit(grown_dropout(), tmp_path) as (program, step):
        of_step = {f"constant {c.name}" for c in program.index.constants() if c.of_step and c.in_towers}
        mutants = [mutant for mutant in program.mutants(with_towers=False) if mutant.name in of_step]
        steps, take = [], program._program.step
        monkeypatch.setattr(program._program, "step", lambda: steps.append(1) or take())
        quick = seen(mutants, step)
        few = len(steps)
        monkeypatch.setattr(program._step_numbers, "are_known", lambda constants: False)
        monkeypatch.setattr(program, "_right", None)
        assert quick == seen(mutants, step) and any(quick.values())
        assert len(quick) < len(steps) - few and few < len(quick)


def test_a_change_that_no_tensor_shows_stays_unseen(tmp_path):
    """The numbers of the step change, and are multiplied by zero: no larger change is taken for seen."""
    with towers_and_visit(grown_dropout(weight=0.0), tmp_path) as (program, step):
        mutants = [m for m in program.mutants(with_towers=False) if "Cast" in m.name or "truediv" in m.name]
        assert mutants and not any(seen(mutants, step).values())


def test_numbers_are_unknown_where_data_meet_a_constant_itself(tmp_path):
    def build():
        xs, count = split_batch(), plain("count", [])

        def gradient(tower):
            half = tf.constant(0.5, name="half")
            keep = 1.0 - tf.cast(tf.cast(count, tf.int32), tf.float32) * half
            return tf.gradients(tf.reduce_sum(tf.tanh(tf.matmul(xs[tower], weights())) * keep * half), [weights()])[0]

        return tf.group(mean_of(towers(gradient)), v1.assign_add(count, 1.0), name="train")

    with towers_and_visit(build, tmp_path) as (program, _):
        list(program.mutants(with_towers=True))
        assert not program._step_numbers.are_known(["tower_0/half"])
        assert not program._step_numbers.are_known(["nothing that was added"])


@pytest.mark.parametrize("read, known", [("Identity(step)", True), ("AssignAdd(step, one)", False)])
def test_what_waits_for_a_change_of_variables_is_not_computed_beside_the_step(read, known):
    graph = graph_of(
        f"""
        step = VariableV2()
        data = Placeholder()
        one = Const()
        half = Const()
        read = {read}
        number = Cast(read)
        keep = Mul(number, half)
        kept = Mul(data, keep)
        train = Assign(data, kept)
        """,
        step={"dtype": tf.int64, "shape": tf.TensorShape([])},
        one={"dtype": tf.int64},
        half={"dtype": tf.float32},
    )
    program = types.SimpleNamespace(train_nodes=lambda: ["train"], rate_tensors=list)
    numbers = StepNumbers(program, graph, {"read", "train"} if not known else {"train"})
    numbers.add(["half"])
    assert numbers.are_known(["half"]) is known and numbers._names == (["keep:0"] if known else [])
