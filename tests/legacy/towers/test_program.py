import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from legacy.towers.program import session_config
from tests.cases import Dyadic, records, setup
from workloads.support.errors import InputError
from workloads.support.machine import threads
from workloads.workload import Clip

# Dyadic: x = 0..7 over two towers, so tower means are 1.5 and 5.5; loss = mean * a * b, a = 1, b = 2.


def step(workload=None, **legacy):
    """The first record of two towers on `Dyadic`."""
    return records(setup(workload or Dyadic(), 2, legacy=legacy).legacy_program(), 1)[0]


@pytest.mark.parametrize("average", ["stack", "add_n"])
@pytest.mark.parametrize("variables", ["cpu", "tower"])
def test_by_hand(average, variables):
    record = step(average=average, variables=variables)
    assert [float(loss) for loss in record.losses] == [3.0, 11.0]
    assert [float(g["a"]) for g in record.gradients] == [3.0, 11.0]
    assert [float(g["b"]) for g in record.gradients] == [1.5, 5.5]
    assert (float(record.combined["a"]), float(record.combined["b"])) == (7.0, 3.5)
    assert (float(record.state.weights["a"]), float(record.state.weights["b"])) == (1 - 7 / 16, 2 - 3.5 / 16)
    assert record.state.step == 1


@dataclasses.dataclass(frozen=True)
class Half(Dyadic):
    """Its loss is computed in bfloat16."""

    def loss(self, scope, batch):
        return tf.cast(tf.cast(super().loss(scope, batch), tf.bfloat16), scope.dtype)


@pytest.mark.parametrize("workload, expected", [(Half(), "bfloat16"), (Dyadic(), "")])
def test_the_half_precision_of_a_part_is_known(workload, expected):
    with setup(workload, 2).legacy_program() as program:
        assert program.half_precision() == expected


def test_sum_adds():
    assert float(step(Dyadic(combine="sum")).combined["a"]) == 14.0


@pytest.mark.parametrize(
    "where, expected",
    [
        ("tower", (2.0 + 2.0) / 2),  # both towers' 3 and 11 are cut to 2
        ("combined", 2.0),
    ],
)
def test_clip_by_value(where, expected):
    assert float(step(Dyadic(clip=Clip(2.0, where, "value"))).combined["a"]) == expected


def test_clip_before_and_after_averaging_differ():
    clipped = [float(step(Dyadic(clip=Clip(4.0, where, "value"))).combined["a"]) for where in ("tower", "combined")]
    assert clipped == [(3.0 + 4.0) / 2, 4.0]


@dataclasses.dataclass(frozen=True)
class Counting(Dyadic):
    """Its statistic moves to the tower's mean of x."""

    def loss(self, scope, batch):
        from workloads import initializers

        mean = tf.reduce_mean(batch["x"])
        scope.get("seen", (), initializers.Constant(0.0), trainable=False)
        scope.update("seen", mean)
        return mean * scope.get("a", (), initializers.Constant(1.0))


@pytest.mark.parametrize("statistics, expected", [("first_tower", 1.5), ("mean_of_towers", 3.5)])
def test_whose_statistics(statistics, expected):
    assert float(step(Counting(statistics=statistics)).state.statistics["seen"]) == expected


def devices_of_towers(program):
    """{tower: devices of its matrix or mean ops}, read from the graph."""
    found = {}
    for op in program.graph.get_operations():
        if op.type == "Mean" and op.name.startswith("tower_"):
            found.setdefault(op.name.split("/")[0], set()).add(op.device)
    return found


def test_each_tower_computes_on_its_device_and_the_fault_pins_all_to_the_cpu():
    with setup(Dyadic(), 2).legacy_program() as program:
        assert devices_of_towers(program) == {"tower_0": {"/device:CPU:0"}, "tower_1": {"/device:CPU:1"}}
    with setup(Dyadic(), 2, legacy={"pin_towers_to_cpu": True}).legacy_program() as program:
        assert devices_of_towers(program) == {"tower_0": {"/device:CPU:0"}, "tower_1": {"/device:CPU:0"}}


def test_the_fault_costs_time_and_not_numbers():
    assert float(step(pin_towers_to_cpu=True).combined["a"]) == 7.0


def test_a_loaded_state_is_the_one_stepped_from():
    with setup(Dyadic(), 2).legacy_program() as program:
        start = program.state()
        first = program.step()
        program.step()
        program.load(start)
        again = program.step()
    assert again.step == first.step == 0
    np.testing.assert_array_equal(again.state.weights["a"], first.state.weights["a"])


def test_unobserved_steps_are_the_observed_ones():
    with setup(Dyadic(), 2).legacy_program() as program:
        for _ in range(5):
            seen = program.step()
    with setup(Dyadic(), 2).legacy_program() as program:
        losses = program.run(5)
        state = program.state()
    assert [float(loss) for loss in losses] == [float(loss) for loss in seen.losses]
    assert state.weights["a"] == seen.state.weights["a"]
    assert state.step == 5


def test_towers_in_threads_apply_each_its_own_gradients():
    """One tower alone has no race: an update of x = 0 .. 7, as by hand."""
    with setup(Dyadic(), 1, legacy={"updates": "async"}).legacy_program() as program:
        program.run(1)
        state = program.state()
    assert (state.step, float(state.weights["a"]), float(state.weights["b"])) == (1, 1 - 7 / 16, 2 - 3.5 / 16)


def test_steps_of_several_towers_in_threads_are_counted_and_cannot_be_observed():
    with setup(Dyadic(), 2, legacy={"updates": "async"}).legacy_program() as program:
        assert len(program.run(3)) == 2
        assert program.state().step == 3
        with pytest.raises(InputError, match="several towers have no order that could be compared"):
            program.step()


def test_a_program_describes_how_it_runs():
    with setup(Dyadic(), 2, legacy={"input": "split", "average": "add_n"}).legacy_program() as program:
        about = program.describe()
        assert [spec.name for spec in program.variables()] == ["a", "b"]
    assert (about["devices"], about["input"], about["variables on"]) == ("CPU:0, CPU:1", "split", "cpu")
    assert about["reduction"] == "add_n in the towers' order" and about["Grappler"] == "off"


def test_a_session_has_a_cpu_for_each_tower_and_grappler_only_where_bits_may_differ():
    config = session_config(["CPU:0", "CPU:1"], exact=True)
    assert config.device_count["CPU"] == 2 and config.graph_options.rewrite_options.disable_meta_optimizer
    assert session_config(["CPU:1", "CPU:2"], exact=True).device_count["CPU"] == 3  # CPU:0 is the host's
    assert config.intra_op_parallelism_threads == 0
    config = session_config(["GPU:0"], exact=False)
    assert config.device_count["CPU"] == 1 and not config.graph_options.rewrite_options.disable_meta_optimizer


def test_towers_of_a_cpu_share_its_cores_where_bits_may_differ(monkeypatch):
    monkeypatch.setattr(threads, "cores", lambda: 6)
    monkeypatch.delenv(threads.VARIABLE, raising=False)

    def within_ops(devices, exact, at_once):
        return session_config(devices, exact, at_once).intra_op_parallelism_threads

    cpus = ["CPU:0", "CPU:1"]
    assert within_ops(cpus, False, 2) == 3
    assert within_ops(cpus, True, 2) == within_ops(cpus, False, 1) == within_ops(["GPU:0", "GPU:1"], False, 2) == 0
