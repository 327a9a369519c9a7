"""Export of a trained state as the user's own compiled Keras model, "model.keras", verified before it is kept."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

import keras
import numpy as np

from modern.keras_models.optimizer_state import optimizer_state
from modern.keras_models.transfer import Transfer
from modern.keras_models.verification import Verified, verify_predictions, verify_step
from workloads.data.opening import import_function
from workloads.job import Job
from workloads.program import Arrays, Program, State
from workloads.records import name_match
from workloads.records.name_match import NameMatch
from workloads.records.variable_match import NAME, ModelVariables
from workloads.support.errors import InputError, require
from workloads.support.files import json_file
from workloads.support.user import user_code
from workloads.support.wording import counted
from workloads.training.export import predict
from workloads.training.first_values import first_values

#: Name of the model's file.
FILE = "model.keras"


class KerasRequest(NamedTuple):
    """A Keras model that is asked for.

    Attributes:
      function: "module:function" of a function that returns the compiled model.
      names: file of the names of its variables, which is written if it does not exist; or None.
    """

    function: str
    names: str | None = None

    def export(self, program: Program, job: Job, state: State, batch: Arrays, folder: str) -> str:
        """Writes the model with a state's weights, statistics and slots.

        Args:
          program: of the job; it takes one more step, and gets its own state back.
          job: the `Job`.
          state: to export.
          batch: {input name: array} of one step, on which predictions are compared.
          folder: an existing one.

        Returns:
          a sentence about what was written and verified.

        Raises:
          InputError: something of the state has no counterpart in the model, or the model does something else.
          UserError: the user's function raised an exception.
        """
        model = build_model(self.function)
        match = match_variables(job, model, self.names)
        own = program.state()
        program.load(state)
        record = program.step()
        program.load(own)
        rates = np.unique(record.learning_rate)
        require(len(rates) == 1, "--export_keras", rates.tolist(), "the step must have one learning rate")
        values = {**state.weights, **state.statistics}
        transfer = Transfer(values, optimizer_state(job, state), float(rates[0]), match.names)
        transfer.apply(model)
        loaded = _saved_and_loaded(model, os.path.join(folder, FILE))
        seen = Verified(0.0)
        if job.workload.has_predictions:
            seen = verify_predictions(loaded, *predict(job, values, batch))
        seen = seen._replace(step=verify_step(loaded, transfer, record, transfer.weights(model)))
        placed = match.ambiguous()
        doubt = f"; {counted(len(placed), 'variable is', 'variables are')} matched by place alone" if placed else ""
        arrays = counted(len(model.weights), "array")
        return f"{FILE}: {arrays}, {type(model.optimizer).__name__}; {seen.sentence()}{doubt}"


def build_model(text: str) -> keras.Model:
    """Returns the model that the user's function makes.

    Args:
      text: "module:function".

    Raises:
      InputError: there is no such function, or it returns something else.
      UserError: it raised an exception.
    """
    allowed = "a function that returns a compiled keras.Model"
    function: Callable[[], keras.Model] = import_function(text, "--export_keras", allowed)
    with user_code.calling(text, function, "a compiled keras.Model"):
        model = function()
    good = isinstance(model, keras.Model) and model.built
    require(good, "--export_keras", type(model).__name__, f"{text} must return a compiled keras.Model with its weights")
    return model


def match_variables(job: Job, model: keras.Model, file: str | None = None) -> NameMatch:
    """Matches a model's weights with a job's weights, and its other variables with the statistics.

    Args:
      job: the `Job`.
      model: the user's.
      file: names that go before the match; written if it does not exist; or None.

    Returns:
      the match of all of the model's variables.

    Raises:
      InputError: a variable of either side has no counterpart, or the file cannot be used.
    """
    first = first_values(job)
    values = {variable.path: keras.ops.convert_to_numpy(variable) for variable in model.weights}
    statistics = frozenset(variable.path for variable in model.non_trainable_weights)
    match = name_match.match_names(first.variables(), ModelVariables(values, statistics))
    legacy = {**first.weights, **first.statistics}
    if file is not None:
        if not os.path.exists(file):
            json_file.write_json(file, match.to_json(), "--names")
        names = name_match.read_names(file, list(legacy), [variable.path for variable in model.weights])
        match = NameMatch(names, {name: NAME for name in names}, [])
    _require_complete(match, legacy, first.weights, model)
    return match


def _require_complete(match: NameMatch, legacy: Arrays, weights: Arrays, model: keras.Model) -> None:
    """Raises `InputError` for variables without a counterpart; counters and other scalars need none."""
    lacking = [variable.path for variable in model.weights if variable.path not in match.names]
    taken = set(match.names.values())
    extra = [n for n, v in legacy.items() if n not in taken and (n in weights or (np.ndim(v) and v.dtype.kind == "f"))]
    for names, where in ((lacking, "of the model"), (extra, "of the workload")):
        if names:
            raise InputError(f"--export_keras: {names[0]!r} {where} has no counterpart; --names=names.json names them")
    for variable in model.weights:
        shape = np.shape(legacy[match.names[variable.path]])
        name = match.names[variable.path]
        require(shape == tuple(variable.shape), "--names", variable.path, f"{name!r} has the shape {list(shape)}")


def _saved_and_loaded(model: keras.Model, path: str) -> keras.Model:
    """Writes a model and reads it back."""
    model.save(path)
    try:
        return keras.models.load_model(path)
    except (TypeError, ValueError) as error:
        reason = str(error).splitlines()[0][:200]
        raise InputError(f"--export_keras: the saved model cannot be loaded again: {reason}") from error
