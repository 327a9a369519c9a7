"""A trained state in the user's Keras model: what is set, verified, and refused."""

from __future__ import annotations

import json

import keras
import numpy as np
import pytest

from modern.keras_models.export import FILE, KerasRequest, build_model, match_variables
from tests import old_programs
from tests.modern.keras_models import models
from workloads import optimizers
from workloads.support.errors import InputError

HERE = "tests.modern.keras_models.models"


def exported(tmp_path, function, optimizer=None, names=None):
    made, program, state = models.trained(optimizer or optimizers.Adam())
    batch = {"x": np.random.RandomState(0).rand(8, 6).astype(np.float32)}
    with program:
        sentence = KerasRequest(f"{HERE}:{function}", names).export(program, made.job, state, batch, str(tmp_path))
        assert program.state().step == state.step  # its own state is back
    return state, keras.models.load_model(tmp_path / FILE), sentence


def value(variable):
    return keras.ops.convert_to_numpy(variable)


def test_adams_slots_and_steps_are_in_the_file(tmp_path):
    state, model, sentence = exported(tmp_path, "adam")
    np.testing.assert_array_equal(value(model.layers[0].kernel), state.weights["first/weights"])
    np.testing.assert_array_equal(value(model.layers[1].moving_mean), state.statistics["norm/moving_mean"])
    np.testing.assert_array_equal(value(model.layers[1].gamma), state.weights["norm/gamma"])
    np.testing.assert_array_equal(value(model.optimizer._momentums[0]), state.slots["first/weights/m"])
    np.testing.assert_array_equal(value(model.optimizer._velocities[0]), state.slots["first/weights/v"])
    assert int(value(model.optimizer.iterations)) == 3 and float(model.optimizer.learning_rate) == 0.0625
    assert sentence.startswith("model.keras: 7 arrays, Adam; one further step within ") and "of logits" in sentence


def test_a_momentum_that_holds_the_rate_is_converted(tmp_path):
    state, model, _ = exported(tmp_path, "momentum", optimizers.Momentum())
    found = value(model.optimizer.momentums[0])
    np.testing.assert_array_equal(found, state.slots["first/weights/momentum"] * np.float32(-0.0625))


def test_names_are_written_and_read_back(tmp_path):
    names = tmp_path / "names.json"
    exported(tmp_path, "adam", names=str(names))
    content = json.loads(names.read_text())
    kernel = next(name for name, own in content["names"].items() if own == "first/weights")
    del content["names"][kernel]
    names.write_text(json.dumps(content))
    made, program, _ = models.trained(optimizers.Adam(), 1)
    program.close()
    with pytest.raises(InputError, match="--export_keras: .* of the model has no counterpart"):
        match_variables(made.job, models.adam(), str(names))


@pytest.mark.parametrize(
    "function, optimizer, says",
    [
        ("keras_default", optimizers.Adam(), "got 'epsilon=1e-07', Adam must have epsilon=1e-08"),
        ("momentum", optimizers.Adam(), "got 'SGD', the optimizer must be keras.optimizers.Adam"),
        ("other_epsilon", optimizers.Adam(), "got 'a difference of .*', the model must predict logits"),
        ("more_units", optimizers.Adam(), "has no counterpart"),
        ("wrong_schedule", optimizers.Adam(), "got 'learning rate 0.25', the next step's is 0.0625, at iterations=3"),
    ],
)
def test_what_has_no_counterpart_is_refused(tmp_path, function, optimizer, says):
    with pytest.raises(InputError, match=f"--export_keras: .*{says}"):
        exported(tmp_path, function, optimizer)


def test_a_lifts_weights_slots_and_steps_are_in_the_file_too(tmp_path):
    made = old_programs.setup("b_adam_clip")
    with made.modern_program() as program:
        program.run(3)
        state = program.state()
        request = KerasRequest(f"{HERE}:model_of_a_lift")
        sentence = request.export(program, made.job, state, {}, str(tmp_path))
    model = keras.models.load_model(tmp_path / FILE)
    np.testing.assert_array_equal(value(model.layers[0].kernel), state.weights["model/hidden/kernel"])
    np.testing.assert_array_equal(value(model.optimizer._velocities[0]), state.slots["model/hidden/kernel/Adam_1"])
    assert int(value(model.optimizer.iterations)) == 3 and "one further step within" in sentence


def test_a_function_must_return_a_model():
    with pytest.raises(InputError, match="--export_keras: .* has no attribute 'nothing'"):
        build_model(f"{HERE}:nothing")
    with pytest.raises(InputError, match="--export_keras: got 'tuple', .* must return a compiled keras.Model"):
        build_model("tests.modern.keras_models.test_export:no_model")


def no_model():
    return ()
