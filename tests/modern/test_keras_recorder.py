"""The recorder of Keras models: the slots that it knows, and a recording of one step by hand."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from modern.keras_recorder import KerasRecorder
from workloads.records.reader import Recording


def to_legacy(arrays, kind):
    """One weight under legacy's name; its slots too."""
    return {"dense/weights" if kind in ("weights", "gradients") else f"dense/weights/{kind}": arrays[0]}


@pytest.fixture(name="model")
def dense_model():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    return model


def test_a_step_of_gradient_descent_by_hand(tmp_path, model):
    strategy, optimizer = tf.distribute.get_strategy(), keras.optimizers.SGD(0.25)
    x, y = np.float32([[1.0, 3.0]]), np.float32([[0.0]])
    recorder = KerasRecorder(str(tmp_path / "port.npz"), model, optimizer, to_legacy, strategy, 1)
    recorder.begin()
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    recorder.step(losses=[loss.numpy()], batches=[{"x": x, "y": y}])
    recorder.end()
    with Recording(str(tmp_path / "port.npz")) as recording:
        assert recording.state().weights["dense/weights"].ravel().tolist() == [1.0, 1.0]
        record = recording.step()
    assert [float(loss) for loss in record.losses] == [4.0] and record.learning_rate == 0.25
    assert record.gradients[0]["dense/weights"].ravel().tolist() == [1.0, 3.0]
    assert record.combined["dense/weights"].ravel().tolist() == [1.0, 3.0]
    assert record.state.weights["dense/weights"].ravel().tolist() == [0.75, 0.25]


def test_a_scaled_loss_leaves_no_trace_and_a_step_that_overflows_moves_nothing(tmp_path, model):
    path, optimizer = str(tmp_path / "port.npz"), keras.optimizers.SGD(0.25, momentum=0.5)
    scaled = keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=8.0)
    recorder = KerasRecorder(path, model, scaled, to_legacy, tf.distribute.get_strategy(), 1)
    recorder.begin()
    for gradient in ([[8.0], [24.0]], [[np.inf], [8.0]]):
        scaled.apply([tf.constant(gradient, tf.float32)], model.trainable_variables)
        recorder.step(losses=[0.0])
    recorder.end()
    with Recording(path) as recording:
        first, second = recording.step(), recording.step()
    assert first.gradients[0]["dense/weights"].ravel().tolist() == [1.0, 3.0]
    assert first.combined["dense/weights"].ravel().tolist() == [1.0, 3.0] and first.learning_rate == 0.25
    assert first.state.weights["dense/weights"].ravel().tolist() == [0.75, 0.25]
    assert list(first.state.slots) == ["dense/weights/momentum/momentum"]
    assert second.gradients[0]["dense/weights"].ravel().tolist() == [np.inf, 1.0]
    assert second.combined["dense/weights"].ravel().tolist() == [0.0, 0.0]
    assert second.state.weights["dense/weights"].ravel().tolist() == [0.75, 0.25]


def test_steps_that_keras_takes_together_are_refused(tmp_path, model):
    path, optimizer = tmp_path / "port.npz", keras.optimizers.SGD(0.25)
    recorder = KerasRecorder(str(path), model, optimizer, to_legacy, tf.distribute.get_strategy(), 1)
    model.compile(optimizer, "mse", steps_per_execution=2)
    examples = tf.data.Dataset.from_tensor_slices((np.ones((4, 2), np.float32), np.zeros((4, 1), np.float32))).batch(1)
    with pytest.raises(ValueError, match="^steps_per_execution: got 2, must be 1 while a model is recorded"):
        model.fit(examples, verbose=0, callbacks=[recorder.callback()])
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(name="floatx", params=["float32", "float64"])
def keras_floatx(request):
    """Keras's precision; the policy of layers has followed it where a layer was made before."""
    before, policy = keras.config.floatx(), keras.config.dtype_policy()
    keras.config.set_floatx(request.param)
    keras.config.set_dtype_policy(request.param)
    yield request.param
    keras.config.set_floatx(before)
    keras.config.set_dtype_policy(policy)


def test_a_model_is_recorded_in_its_own_precision(tmp_path, floatx):
    """A recording in float64 shows what float32 hides (`--dtype=float64`): nothing of it may have been rounded."""
    dense = keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")
    model, optimizer = keras.Sequential([keras.Input((2,)), dense]), keras.optimizers.Adam(0.25)
    model.compile(optimizer, keras.losses.MeanSquaredError())
    path = str(tmp_path / "port.npz")
    recorder = KerasRecorder(path, model, optimizer, to_legacy, tf.distribute.get_strategy(), 1)
    x = np.asarray([[1 / 3, 1.0]], floatx)
    model.fit(x, np.zeros((1, 1), floatx), verbose=0, callbacks=[recorder.callback()])
    with Recording(path) as recording:
        initial, record = recording.state(), recording.step()
    arrays = [*record.losses, *record.gradients[0].values(), *record.combined.values()]
    arrays += [*record.state.weights.values(), *record.state.slots.values(), *initial.slots.values()]
    assert {str(value.dtype) for value in arrays} == {floatx}
    assert record.losses[0] == (x[0, 0] + x[0, 1]) ** 2


def test_a_recording_is_removed_after_an_error(tmp_path, model):
    recorder = KerasRecorder(
        str(tmp_path / "port.npz"), model, keras.optimizers.SGD(), to_legacy, tf.distribute.get_strategy(), 1
    )
    recorder.begin()
    recorder.end(ValueError, ValueError("broken"), None)
    assert list(tmp_path.iterdir()) == []


def test_a_function_reads_each_weight_before_it_is_updated(tmp_path):
    layers = [keras.layers.Dense(2, use_bias=False, kernel_initializer="ones") for _ in range(2)]
    model, optimizer = keras.Sequential([keras.Input((2,)), *layers]), keras.optimizers.SGD(0.25)
    strategy = tf.distribute.get_strategy()
    recorder = KerasRecorder(str(tmp_path / "port.npz"), model, optimizer, to_legacy, strategy, 1)
    recorder.begin()

    @tf.function
    def step():  # linear in each weight: the updates do not wait for the forward pass by their data
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(tf.constant([[1.0, 2.0]])) * [1.0, 3.0])
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    losses = set()
    for _ in range(200):
        for weight in model.trainable_variables:
            weight.assign(np.ones((2, 2), np.float32))
        losses.add(float(step()))
    recorder.end(ValueError, ValueError("not to be kept"), None)
    assert losses == {24.0}


def test_outputs_of_layers_and_gradients_to_them_by_hand(tmp_path):
    layers = [keras.layers.Dense(2, use_bias=False, kernel_initializer="ones", name=name) for name in ("one", "two")]
    model = keras.Sequential([keras.Input((2,)), *layers])
    strategy, optimizer = tf.distribute.get_strategy(), keras.optimizers.SGD(0.25)
    names = {"one": "one/dense.output", "two": "two/dense.output"}
    recorder = KerasRecorder(str(tmp_path / "port.npz"), model, optimizer, to_legacy, strategy, 1, taps=names)
    recorder.begin()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(np.float32([[1.0, 2.0]])) * [1.0, 3.0])
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    recorder.step(losses=[loss.numpy()])
    recorder.end()
    with Recording(str(tmp_path / "port.npz")) as recording:
        record = recording.step()
    assert list(record.taps[0]) == list(names.values())
    assert [value.ravel().tolist() for value in record.taps[0].values()] == [[3.0, 3.0], [6.0, 6.0]]
    assert [value.ravel().tolist() for value in record.tap_gradients[0].values()] == [[4.0, 4.0], [1.0, 3.0]]
