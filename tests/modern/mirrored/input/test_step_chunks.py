import numpy as np
import tensorflow as tf

from modern.collectives import strategy
from modern.mirrored.input.step_chunks import StepChunks, replica_devices
from modern.options import ModernOptions


def taken(chunks_of_replicas, steps, compiled):
    """x of each replica at each step, where replica r reads the chunks `chunks_of_replicas[r]`."""
    mirrored = strategy.mirrored_strategy(["CPU:0", "CPU:1"], ModernOptions())
    chunks = StepChunks(mirrored, {"x": tf.TensorSpec((None, 1), tf.float32)})
    in_turn = [{"x": np.float32(chunk)} for of_step in zip(*chunks_of_replicas) for chunk in of_step]
    signature = {"x": tf.TensorSpec((None, 1), tf.float32)}
    dataset = tf.data.Dataset.from_generator(lambda: iter(in_turn), output_signature=signature)
    endless = dataset.apply(tf.data.experimental.assert_cardinality(tf.data.experimental.INFINITE_CARDINALITY))
    batches = iter(mirrored.distribute_datasets_from_function(lambda context: endless))
    take = tf.function(chunks.take, autograph=False) if compiled else chunks.take
    local = mirrored.experimental_local_results
    return chunks, [[value.numpy().tolist() for value in local(take(batches)["x"])] for _ in range(steps)]


CHUNKS = [[[1.0]], [[2.0], [3.0]], [[4.0]]], [[[10.0]], [[20.0], [30.0]], [[40.0]]]


def test_chunks_of_different_lengths_are_taken_a_step_at_a_time():
    expected = [[[1.0], [10.0]], [[2.0], [20.0]], [[3.0], [30.0]], [[4.0], [40.0]]]
    for compiled in (False, True):
        assert taken(CHUNKS, 4, compiled)[1] == expected


def test_a_filled_chunk_is_taken_before_any_other_is_read():
    chunks, _ = taken(CHUNKS, 2, compiled=False)  # step 3 is left in the chunk at hand
    chunks.fill([{"x": np.float32([[7.0], [8.0]])}, {"x": np.float32([[70.0], [80.0]])}])
    steps = [[value.numpy().tolist() for value in chunks.take(iter(()))["x"].values] for _ in range(2)]
    assert steps == [[[7.0], [70.0]], [[8.0], [80.0]]]


def test_a_cleared_chunk_is_read_anew():
    chunks, _ = taken(CHUNKS, 2, compiled=False)  # step 3 is left in the chunk at hand
    chunks.clear()
    read = []
    chunks._keep = lambda chunk: read.append(chunk) or chunks._steps.assign(1)
    chunks.take(iter([{"x": None}, {"x": None}]))
    assert read == [{"x": None}]


def test_the_default_strategy_has_one_replica_on_the_cpu():
    assert replica_devices(tf.distribute.get_strategy()) == ("/device:CPU:0",)
    mirrored = strategy.mirrored_strategy(["CPU:0", "CPU:1"], ModernOptions())
    assert [device[-5:] for device in replica_devices(mirrored)] == ["CPU:0", "CPU:1"]
