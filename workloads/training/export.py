"""Export of a trained workload: weights by name, and its predictions as a SavedModel, verified against the program's.

DIR/weights.npz    {variable name: array}: weights, statistics, and <weight>/ExponentialMovingAverage
DIR/saved_model    signature "serving_default": the inputs that `Workload.predictions` reads, and what it returns
"""

from __future__ import annotations

import contextlib
import os
import shutil
import zipfile
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional

import numpy as np
import tensorflow as tf

from workloads.scope import Scope, Tensors
from workloads.support.errors import InputError, require
from workloads.support.user import user_code
from workloads.training.evaluation import EvaluationFrame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from workloads.job import Job
    from workloads.program import Arrays, State

v1 = tf.compat.v1

#: Key of the signature, which serving programs look for.
SIGNATURE = "serving_default"

#: Kernels may differ between two loads of a graph: a prediction may be off by this part of its tensor's largest entry.
ROUNDING = 1e-5


class Exported(NamedTuple):
    """An export.

    Attributes:
      variables: number of arrays in weights.npz.
      inputs, outputs: {name: shape} of the signature; empty without a SavedModel.
      difference: largest difference between the predictions of the SavedModel and of the program, relative to the
        tensor's largest entry; 0 for identical bits.
      further: a sentence about what else was written.
    """

    variables: int
    inputs: Dict[str, List[Optional[int]]]
    outputs: Dict[str, List[Optional[int]]]
    difference: float
    further: str = ""

    def sentence(self) -> str:
        """Returns what was exported."""
        return "; ".join(filter(None, [self._own_sentence(), self.further]))

    def _own_sentence(self) -> str:
        weights = f"{self.variables} arrays in weights.npz"
        if not self.outputs:
            return f"{weights}; no SavedModel, as the workload defines no predictions"
        verified = "identical bits" if self.difference == 0 else f"within {self.difference:.1e} of the program's"
        return f"{weights}; {SIGNATURE}: {_shapes(self.inputs)} -> {_shapes(self.outputs)}; first batch: {verified}"


def check_export(folder: str) -> None:
    """Raises `InputError` if a folder to export to exists, or could not be made."""
    require(not os.path.lexists(folder), "--export", folder, "must be a folder that does not exist yet")
    parent = os.path.dirname(os.path.abspath(folder))
    require(os.path.isdir(parent) and os.access(parent, os.W_OK), "--export", folder, "its parent cannot be written")


def export_state(
    job: Job, state: State, batch: Arrays, folder: str, further: Optional[Callable[[str], str]] = None
) -> Exported:
    """Writes a state's weights, and the workload's predictions if it defines any.

    Args:
      job: the `Job`.
      state: of its training.
      batch: {input name: array} of any number of examples, on which the SavedModel is compared with the program.
      folder: that appears when all is written.
      further: writes more into the folder that it is given, and returns a sentence about it; or None.

    Returns:
      what was written.

    Raises:
      InputError: the folder cannot be written, or the SavedModel predicts something else.
      UserError: the workload's predictions raised an exception.
    """
    part = f"{folder}.part{os.getpid()}"
    try:
        os.makedirs(part)
        arrays = {**state.weights, **state.statistics}
        suffix = "" if job.workload.is_lifted else "/ExponentialMovingAverage"
        averages = {name + suffix: value for name, value in state.averages.items()}
        _write_arrays(os.path.join(part, "weights.npz"), {**arrays, **averages})
        made = Exported(len(arrays) + len(averages), {}, {}, 0.0)
        if job.workload.has_predictions:
            made = _save_predictions(job, arrays, batch, os.path.join(part, "saved_model"), made)
        if further is not None:
            made = made._replace(further=further(part))
        os.rename(part, folder)
        return made
    except OSError as error:
        raise InputError(f"--export: cannot write {folder}: {error.strerror}")
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _write_arrays(path: str, arrays: Arrays) -> None:
    """Writes an .npz file; `np.savez` takes no array that is called "file"."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in arrays.items():
            with archive.open(name + ".npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(value), allow_pickle=False)


class _Reads(Dict[str, Any]):
    """The inputs of a batch, and the names of those that were read."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.read: List[str] = []

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        self.read += [name] if name not in self.read else []
        return value


def predict(job: Job, arrays: Arrays, batch: Arrays) -> tuple[Arrays, Arrays]:
    """Computes a workload's predictions.

    Args:
      job: the `Job`.
      arrays: {variable name: array}.
      batch: {input name: array} of any number of examples.

    Returns:
      ({input: array} of those that the predictions read, {output: array}).

    Raises:
      UserError: the workload's predictions raised an exception.
    """
    with _loaded_predictions(job, arrays, batch) as loaded:
        return loaded.values, loaded.run()


def _save_predictions(job: Job, arrays: Arrays, batch: Arrays, folder: str, made: Exported) -> Exported:
    """Writes the SavedModel and compares it with the graph that it was made from."""
    with _loaded_predictions(job, arrays, batch) as loaded:
        expected = loaded.run()
        v1.saved_model.simple_save(loaded.session, folder, loaded.inputs, loaded.outputs)
    found = _predictions_of_saved_model(folder, loaded.values)
    difference = max(_difference(expected[name], found[name]) for name in expected)
    require(
        difference <= ROUNDING, "--export", folder, f"its predictions differ from the program's by {difference:.1e}"
    )
    return made._replace(inputs=_shapes_of(loaded.inputs), outputs=_shapes_of(loaded.outputs), difference=difference)


class _LoadedPredictions(NamedTuple):
    """The predictions in a session that holds the values of the variables.

    Attributes:
      session: the session.
      inputs: {input: placeholder} of those that the predictions read.
      outputs: {output: tensor}.
      values: {input: array} of a batch, in the placeholders' dtypes.
    """

    session: tf.compat.v1.Session
    inputs: Tensors
    outputs: Tensors
    values: Arrays

    def run(self) -> Arrays:
        """Returns {output: array} for the batch."""
        feed = {self.inputs[name]: value for name, value in self.values.items()}
        outputs: Arrays = self.session.run(self.outputs, feed)
        return outputs


@contextlib.contextmanager
def _loaded_predictions(job: Job, arrays: Arrays, batch: Arrays) -> Iterator[_LoadedPredictions]:
    """Builds the predictions in a graph of their own, for any number of examples where the model allows that."""
    rows = len(next(iter(batch.values())))
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        holders = {name: v1.placeholder(value.dtype, value.shape) for name, value in arrays.items()}
        variables = {
            name: v1.get_variable(name, value.shape, value.dtype, v1.zeros_initializer(), use_resource=True)
            for name, value in arrays.items()
        }
        assign = tf.group(*[v1.assign(variables[name], holder).op for name, holder in holders.items()])
        reads = {name: variable.read_value() for name, variable in variables.items()}
        try:
            inputs, outputs = _predictions(job, reads, None)
        except Exception:  # the model asks for the number of examples; a fault of its own shows itself again
            inputs, outputs = _predictions(job, reads, rows)
        session.run(assign, {holder: arrays[name] for name, holder in holders.items()})
        values = {name: batch[name].astype(tensor.dtype.as_numpy_dtype) for name, tensor in inputs.items()}
        yield _LoadedPredictions(session, inputs, outputs, values)


def _predictions(job: Job, reads: Tensors, rows: Optional[int]) -> tuple[Tensors, Tensors]:
    """Returns the inputs that are read, and the outputs, of a pass over `rows` examples."""
    workload = job.workload
    batch = _Reads(
        {
            name: v1.placeholder(spec.dtype(job.dtype), (rows, *spec.shape), name)
            for name, spec in workload.inputs().items()
        }
    )
    what = f"{workload.name}.predictions"
    with user_code.calling(what, workload.predictions, "{output: tensor [examples, ...]}"):
        outputs = workload.predictions(Scope(EvaluationFrame(job, 0, reads)), batch)
    what = user_code.named(what, workload.predictions)
    good = isinstance(outputs, dict) and outputs and all(isinstance(value, tf.Tensor) for value in outputs.values())
    require(good, what, outputs, "must be {output: tensor [examples, ...]}")
    require(batch.read, what, list(outputs), "must read an input")
    return {name: dict.__getitem__(batch, name) for name in batch.read}, dict(outputs)


def _predictions_of_saved_model(folder: str, batch: Arrays) -> Arrays:
    """Returns what the SavedModel in a folder predicts, loaded into a graph of its own."""
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        meta = v1.saved_model.load(session, [v1.saved_model.tag_constants.SERVING], folder)
        signature = meta.signature_def[SIGNATURE]
        feed = {signature.inputs[name].name: value for name, value in batch.items()}
        found: Arrays = session.run({name: output.name for name, output in signature.outputs.items()}, feed)
        return found


def _difference(expected: np.ndarray, found: np.ndarray) -> float:
    if np.array_equal(expected, found):
        return 0.0
    wide = np.asarray(expected, np.float64)
    return float(np.max(np.abs(wide - found)) / max(float(np.max(np.abs(wide))), np.finfo(np.float64).tiny))


def _shapes_of(tensors: Tensors) -> Dict[str, List[Optional[int]]]:
    """Returns {name: shape}, by name; None for an open dimension."""
    return {name: tensor.shape.as_list() for name, tensor in sorted(tensors.items())}


def _shapes(shapes: Mapping[str, List[Optional[int]]]) -> str:
    return ", ".join(f"{name} {shape}" for name, shape in shapes.items())
