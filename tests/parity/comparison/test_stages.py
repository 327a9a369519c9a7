"""Stages of a record: causal order, names of the tensors, and what is left out."""

import numpy as np

from parity.comparison import stages
from tests.parity.step_records import made_up_state, step_record

RECORD = step_record(
    losses=[1.0, 2.0],
    gradients=[{"w": [1.0], "b": [2.0]}, {"w": [3.0], "b": [4.0]}],
    combined={"w": [2.0], "b": [3.0]},
    learning_rate=0.25,
    state=made_up_state({"w": [5.0]}, {"w/momentum": [6.0]}, {"mean": [7.0]}, {"w": [8.0]}),
    digests=["aa", "bb"],
)


def test_tensors_come_in_causal_order():
    found = [(stage, name) for stage, name, _ in stages.tensors(RECORD)]
    assert found == [
        ("batch", "replica 0"),
        ("batch", "replica 1"),
        ("loss", "replica 0"),
        ("loss", "replica 1"),
        ("gradients", "b on replica 0"),
        ("gradients", "w on replica 0"),
        ("gradients", "b on replica 1"),
        ("gradients", "w on replica 1"),
        ("combined gradients", "b"),
        ("combined gradients", "w"),
        ("learning rate", "learning rate"),
        ("weights", "w"),
        ("slots", "w/momentum"),
        ("statistics", "mean"),
        ("moving averages", "w"),
    ]
    order = [stages.STAGES.index(stage) for stage, _ in found]
    assert order == sorted(order)


def test_a_record_without_a_learning_rate_has_no_such_stage():
    assert stages.RATE not in [stage for stage, _, _ in stages.tensors(step_record(learning_rate=None))]


def test_the_initial_state_names_the_stage_of_all_but_weights():
    found = [(stage, name) for stage, name, _ in stages.initial_tensors(RECORD.state)]
    assert found == [
        ("initial values", "w"),
        ("initial values", "w/momentum (slots)"),
        ("initial values", "mean (statistics)"),
        ("initial values", "w (moving averages)"),
    ]


def test_a_states_tensors_by_stage_and_name():
    found = stages.state_tensors(RECORD.state)
    assert found["slots", "w/momentum"] == np.float32([6.0]) and len(found) == 4


def test_all_gradients_as_one_vector():
    assert stages.FACTORED[stages.GRADIENTS](RECORD).tolist() == [2.0, 1.0, 4.0, 3.0]
    assert stages.FACTORED[stages.COMBINED](RECORD).tolist() == [3.0, 2.0]


def test_taps_stand_around_the_loss_in_the_order_of_the_two_passes():
    record = step_record(losses=[1.0], learning_rate=None, state=made_up_state({}))
    record.taps = record.tap_gradients = [{"b": np.ones(1), "a": np.ones(1)}]
    assert [(stage, name) for stage, name, _ in stages.tensors(record, ["b", "a"])] == [
        ("activations", "b on replica 0"),
        ("activations", "a on replica 0"),
        ("loss", "replica 0"),
        ("gradients of activations", "a on replica 0"),
        ("gradients of activations", "b on replica 0"),
    ]
    other = step_record(losses=[1.0], learning_rate=None, state=made_up_state({}))
    other.taps = other.tap_gradients = [{"a": np.ones(1), "c": np.ones(1)}]
    assert stages.common_taps(record, other) == ["a"]
    assert stages.common_taps(record, step_record(losses=[1.0])) == []
    assert [len(list(found)) for found in stages.both_tensors(record, other)] == [3, 3]
