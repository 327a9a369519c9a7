import numpy as np
import tensorflow as tf

from modern.collectives import strategy
from modern.mirrored.step.step_tensors import StepTensors, replica_arrays, step_record
from modern.options import ModernOptions
from workloads.program import State
from workloads.records.writer import batch_digest, example_ids

STATE = State(3, {"w": np.float32(1.0)}, {}, {}, {})
BATCHES = [{"x": np.array([1.0, 2.0], np.float32)}, {"x": np.array([3.0, 4.0], np.float32)}]
VALUES = StepTensors(
    loss=[np.float32(0.5), np.float32(0.25)],
    gradients=[{"w": np.float32(1.0)}, {"w": np.float32(2.0)}],
    combined={"w": np.float32(1.5)},
    learning_rate=np.float32(0.125),
    proposals=[{"mean": np.float32(7.0)}, {"mean": np.float32(8.0)}],
    masks=[{"drop": np.array([True])}, {"drop": np.array([False])}],
)


def test_a_record_holds_the_values_and_the_batches_digests():
    record = step_record(2, VALUES, BATCHES, STATE, ["w"])
    assert record.step == 2 and record.state is STATE and record.drift == ["w"]
    assert record.digests == [batch_digest(batch) for batch in BATCHES]
    assert record.digests[0] != record.digests[1]
    assert [ids.tolist() for ids in record.examples] == [example_ids(batch).tolist() for batch in BATCHES]
    assert [float(loss) for loss in record.losses] == [0.5, 0.25]
    assert record.gradients == VALUES.gradients and record.combined == VALUES.combined
    assert record.proposals == VALUES.proposals and record.masks == VALUES.masks
    assert isinstance(record.learning_rate, np.ndarray) and record.learning_rate == 0.125


def test_without_copies_nothing_drifts():
    assert step_record(0, VALUES, BATCHES, STATE).drift == []


def test_each_replicas_values_are_copied_by_name():
    replicas = strategy.mirrored_strategy(["CPU:0", "CPU:1"], ModernOptions())
    number = replicas.experimental_distribute_values_from_function(
        lambda context: tf.constant(2.0 ** (context.replica_id_in_sync_group + 1))
    )
    arrays = replica_arrays(replicas, {"a": number, "b": number}, 2)
    assert arrays == [{"a": 2.0, "b": 2.0}, {"a": 4.0, "b": 4.0}]
    assert replica_arrays(replicas, {}, 2) == [{}, {}]  # a model without statistics proposes none, on each replica
