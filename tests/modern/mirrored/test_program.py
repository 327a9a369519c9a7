import dataclasses
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf

from tests.cases import Dyadic, Everything, assert_same, records, setup
from workloads import initializers, sources
from workloads.numerics import normalization
from workloads.support.errors import InputError


def test_by_hand():
    record = records(setup(Dyadic(), 2).modern_program(), 1)[0]
    assert [float(loss) for loss in record.losses] == [3.0, 11.0]
    assert float(record.combined["a"]) == 7.0
    assert float(record.state.weights["b"]) == 2 - 3.5 / 16


@dataclasses.dataclass(frozen=True)
class LastPenalized(Dyadic):
    """`Dyadic` with a penalty of 2 b^2 = 8 on the last replica."""

    def loss(self, scope, batch):
        b = scope.get("b", (), initializers.Constant(2.0))
        return super().loss(scope, batch) + (2.0 * b * b if scope.replica == scope.replicas - 1 else 0.0)


@pytest.mark.parametrize("replicas, expected", [(2, [3.0, 11.0 + 8.0]), (4, [1.0, 5.0, 9.0, 13.0 + 8.0])])
def test_the_last_replica_is_that_of_any_number_on_both_sides(replicas, expected):
    made = setup(LastPenalized(), replicas)
    left, right = records(made.legacy_program(), 2), records(made.modern_program(), 2)
    assert [float(loss) for loss in right[0].losses] == expected
    assert float(right[0].combined["b"]) == 3.5 + 8.0 / replicas
    assert_same(left, right)


@pytest.mark.parametrize("steps_per_call", [1, 3, 4])
def test_steps_inside_one_call_are_the_steps_one_by_one(steps_per_call):
    made = setup(Everything(), 2, modern={"steps_per_call": steps_per_call})
    last = records(made.modern_program(), 7)[-1]
    with made.modern_program() as program:
        losses = program.run(7)
        state = program.state()
    assert [loss.tobytes() for loss in losses] == [loss.tobytes() for loss in last.losses]
    for name, value in last.state.weights.items():
        assert state.weights[name].tobytes() == value.tobytes()
    assert state.step == 7


def test_running_again_traces_nothing():
    with setup(Everything(), 2, modern={"steps_per_call": 4}).modern_program() as program:
        program.run(5)
        traced = program.traces()
        program.run(11)
        assert program.traces() == traced > 0


def by_tape(workload):
    """Largest relative difference of the combined gradients between the two ways to differentiate."""
    graph, tape = (
        records(setup(workload, 2, modern={"autodiff": autodiff}).modern_program(), 1)[0]
        for autodiff in ("graph", "tape")
    )
    return max(
        np.abs(graph.combined[n] - tape.combined[n]).max() / np.abs(graph.combined[n]).max() for n in graph.combined
    )


def test_tape_gives_identical_bits_where_every_value_is_used_once():
    assert by_tape("regression") == 0


def test_tape_adds_in_another_order_where_values_are_used_many_times():
    assert by_tape(Everything()) < 1e-5 and by_tape("stacked_lstm") < 1e-5
    with mock.patch.object(normalization, "_by_kernel", normalization._by_formulas):  # its single ops share their input
        assert 0 < by_tape(Everything()) < 1e-5


@pytest.mark.slow
def test_xla_agrees_to_rounding():
    plain = records(setup(Everything(), 2).modern_program(), 1)[0]
    compiled = records(setup(Everything(), 2, modern={"xla": True}).modern_program(), 1)[0]
    for name, value in plain.combined.items():
        np.testing.assert_allclose(compiled.combined[name], value, rtol=0, atol=1e-5 * np.abs(value).max())


def test_a_loaded_state_is_the_one_stepped_from():
    made = setup(Everything(), 2)
    first = records(made.modern_program(), 4)
    with made.modern_program() as program:
        program.load(first[1].state)
        assert_same(first[2:], [program.step(), program.step()])


def test_resident_batches_stay_on_the_devices():
    made = setup(Everything(), 2, source=sources.Resident)
    with made.modern_program() as program:
        assert program.describe()["input"] == "resident"
        first, second = program.step(), program.step()
    assert first.digests == second.digests
    assert first.losses[0] != second.losses[0]


def test_a_copy_that_drifts_is_named():
    with setup(Everything(), 2).modern_program() as program:
        assert program.step().drift == []
        copy = program.strategy.experimental_local_results(program._variables.weights["first/weights"])[1]
        tf.raw_ops.AssignAddVariableOp(resource=copy.handle, value=tf.ones(copy.shape))
        assert "first/weights" in program.step().drift


@pytest.mark.parametrize("workload, staleness", [(Everything(), None), ("stacked_lstm", None), (Dyadic(), 1)])
def test_one_copy_of_the_variables_has_the_bits_of_mirrored_ones(workload, staleness):
    def three_steps(variables):
        made = setup(workload, 2, modern={"variables": variables})
        job = dataclasses.replace(made.job, staleness=staleness)
        return records(dataclasses.replace(made, job=job).modern_program(), 3)

    assert_same(three_steps("mirrored"), three_steps("first"))


@pytest.mark.parametrize(
    "replicas, modern, place",
    [
        (2, {"variables": "auto"}, "the first replica's device"),
        (2, {"variables": "first"}, "the first replica's device"),
        (2, {}, "every replica"),
        (1, {"variables": "auto"}, "every replica"),
        (2, {"variables": "auto", "update_rules": "keras"}, "every replica"),
    ],
)
def test_replicas_of_one_process_share_the_variables(replicas, modern, place):
    with setup(Dyadic(), replicas, modern=modern).modern_program() as program:
        assert program.describe()["variables on"] == place
        copies = program.strategy.experimental_local_results(program._variables.weights["a"])
        assert len(copies) == (replicas if place == "every replica" else 1)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"update_rules": "keras"}, "with --variables=first: tf1"),
        ({"placement": "layers"}, "in one process, not for a lift"),
    ],
)
def test_variables_that_cannot_be_shared_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        setup(Dyadic(), 2, modern={"variables": "first", **options}).modern_program()


def test_replicas_drop_different_units():
    workload = dataclasses.replace(Everything(), dropout_rate=0.5)

    @dataclasses.dataclass(frozen=True)
    class SameBatch(type(workload)):
        def examples(self, rng, count):
            batch = super().examples(rng, count // 2)
            return {name: np.concatenate([value, value]) for name, value in batch.items()}

    with_dropout, without = (
        records(setup(SameBatch(dropout_rate=rate), 2).modern_program(), 1)[0].losses for rate in (0.5, 0.0)
    )
    assert with_dropout[0] != with_dropout[1]
    assert without[0] == without[1]
