"""Layers on several devices: the same bits as on one, the same bits on both sides, and a trace that adds up."""

import dataclasses

import pytest

from modern.model_parallel.program import PipelineProgram
from parity.profiling import device_trace
from tests.cases import assert_same, records, setup
from workloads.selection import registry
from workloads.support.errors import InputError

LSTM = dataclasses.replace(registry.get("stacked_lstm", "small"), time=3, units=8, global_batch=8)


def staged(devices, micro_batches, workload=LSTM):
    """A `Setup` with layers on `devices` devices."""
    made = setup(workload, micro_batches, legacy={"placement": "layers"}, modern={"placement": "layers"})
    return dataclasses.replace(made, layer_devices=devices)


@pytest.mark.parametrize("micro_batches", [1, 2, 4])
def test_the_same_bits_on_any_number_of_devices_and_on_both_sides(micro_batches):
    one = records(staged(1, micro_batches).legacy_program(), 3)
    for devices in (2, 3):
        made = staged(devices, micro_batches)
        assert_same(one, records(made.legacy_program(), 3))
        assert_same(one, records(made.modern_program(), 3))


def test_micro_batches_are_towers():
    assert_same(records(staged(3, 2).modern_program(), 3), records(setup(LSTM, 2).modern_program(), 3))


def test_another_number_of_micro_batches_is_another_sum():
    one, other = (records(staged(2, parts).modern_program(), 1)[0] for parts in (1, 2))
    assert len(one.gradients) == 1 and len(other.gradients) == 2


def test_a_model_that_does_not_say_where_its_layers_are_is_refused():
    with pytest.raises(InputError, match="--layer_devices: got 2, the layers of regression fill 1"):
        staged(2, 1, "regression").modern_program()


def test_every_weight_and_slot_is_with_its_layer():
    with staged(3, 1).modern_program() as program:
        assert isinstance(program, PipelineProgram)
        places = {name: v.device[-5:] for name, v in program._variables.weights.items()}
        slots = {name: v.device[-5:] for name, v in program._variables.slots.items()}
    assert {places[f"lstm{layer}/kernel"] for layer in range(3)} == {"CPU:0", "CPU:1", "CPU:2"}
    assert all(slots[name] == places[name.rsplit("/", 1)[0]] for name in slots)


@pytest.mark.parametrize("spans, length", [([], 0), ([(0, 2), (1, 3)], 3), ([(5, 6), (0, 1), (0, 1)], 2)])
def test_covered_is_the_length_of_the_union(spans, length):
    assert device_trace.union_length(spans) == length


def test_both_sides_send_the_activations_and_their_gradients_and_little_else():
    made = staged(3, 2)
    activations = LSTM.time * LSTM.global_batch * LSTM.units * 4
    with made.legacy_program() as program:
        program.run(2)
        legacy = device_trace.trace_session(program)
    with made.modern_program() as program:
        modern = device_trace.trace_function(program, warm_up=1)
    for trace in (legacy, modern):
        for ends in (("CPU:0", "CPU:1"), ("CPU:1", "CPU:0"), ("CPU:1", "CPU:2"), ("CPU:2", "CPU:1")):
            assert activations <= trace.crossing[ends] <= activations + 100, ends
        assert set(trace.busy) == {"CPU:0", "CPU:1", "CPU:2"}
        assert all(0 < busy <= trace.seconds for busy in trace.busy.values())
