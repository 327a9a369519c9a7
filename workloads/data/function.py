"""`FunctionData`: data that a function of the user's makes: a `tf.data` pipeline, arrays, or an iterable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Optional, Tuple

import numpy as np
import tensorflow as tf

from workloads.data.batches import ArrayBatches, Batches, Data, Request
from workloads.data.own_thread import OwnThread
from workloads.data.stream import StreamBatches
from workloads.program import Arrays
from workloads.support.errors import InputError, require
from workloads.support.user import user_code

v1 = tf.compat.v1

#: The results that a function may have, for messages.
EXPECTED = "a tf.data.Dataset or an iterable of {input name: array}, or arrays {input name: array of all examples}"

#: Threads of a dataset of the user's. Of its own: where another pipeline's Python function reads it, that one's threads
#: may all be waiting for it.
_THREADS = 2


class FunctionData(Data):
    """Data that a function makes.

    Args:
      name: of the function in messages, such as "--data=mine:batches".
      make: called with the global batch; returns a `tf.data.Dataset` of examples or of batches, an iterable of either,
        or the arrays of all examples. It is called again where a stream is begun anew.
    """

    def __init__(self, name: str, make: Callable[[int], Any]) -> None:
        self._function, self._make = name, make
        self.name = user_code.named(name, make)
        self.description = name

    def batches(self, request: Request) -> Batches:
        return FunctionBatches(self._function, self._make, request)


class FunctionBatches(Batches):
    """See `FunctionData`.

    The function is called when the first batch is asked for: devices are chosen by then. It is called, and what it
    returns is read, in a thread of their own: the caller may be building a graph.
    """

    def __init__(self, name: str, make: Callable[[int], Any], request: Request) -> None:
        self._name, self._make, self._request = name, make, request
        self._what = user_code.named(name, make)
        self._made: Optional[Batches] = None
        self._thread = OwnThread()

    @property
    def count(self) -> Optional[int]:
        return None if self._made is None else self._made.count

    @property
    def is_read_in_order(self) -> bool:
        return self._thread.run(lambda: self._batches().is_read_in_order)

    def batch(self, step: int) -> Arrays:
        return self._thread.run(lambda: self._batches().batch(step))

    def ends(self) -> Tuple[int, ...]:
        return self._thread.run(lambda: self._batches().ends())

    def steps(self, epochs: int) -> Optional[int]:
        return self._thread.run(lambda: self._batches().steps(epochs))

    def full_dataset(self) -> Optional[tf.data.Dataset]:
        made = self._thread.run(self._call)
        if not isinstance(made, tf.data.Dataset):
            return None
        spec, size = made.element_spec, self._request.order.size
        full = all(
            wanted.rank is None or spec[name].shape[:1].as_list() == [size]
            for name, wanted in self._request.inputs.items()
        )
        return made if full else None

    def _batches(self) -> Batches:
        """Returns the batches of the function's result; the function is called once."""
        if self._made is None:
            made = self._call()
            if isinstance(made, (list, tuple)) and made and all(isinstance(each, Mapping) for each in made):
                made = self._stacked(made)
            if isinstance(made, Mapping):
                arrays = {name: np.asarray(value) for name, value in made.items()}
                self._made = ArrayBatches(self._what, arrays, self._request)
            else:
                self._made = StreamBatches(self._what, self._elements, self._request)
        return self._made

    def _call(self) -> Any:
        """Calls the function, and checks the type of its result; no element is read."""
        with user_code.calling(self._name, self._make, EXPECTED):
            made = self._make(self._request.order.size)
        allowed = f"must be {EXPECTED}"
        require(isinstance(made, (tf.data.Dataset, Mapping, Iterable)), self._what, made, allowed)
        require(not isinstance(made, (str, bytes, np.ndarray, tf.Tensor)), self._what, type(made).__name__, allowed)
        if isinstance(made, tf.data.Dataset):
            check_spec(self._what, made.element_spec, self._request, "a tf.data.Dataset of {input name: tensor}")
        return made

    def _stacked(self, examples: Any) -> Arrays:
        """Returns the arrays of a list of examples."""
        selected = [self._request.select(self._what, example) for example in examples]
        try:
            return {name: np.stack([example[name] for example in selected]) for name in self._request.inputs}
        except ValueError as error:
            raise InputError(f"{self._what}: got examples that differ, all must have one shape: {error}") from error

    def _elements(self) -> Iterator[Any]:
        """Calls the function and yields the elements that it returns, {name: array}."""
        with user_code.calling(self._name, self._make, EXPECTED):
            elements = _numpy_elements(self._call)
        while True:
            with user_code.calling(self._name, self._make):
                element = next(elements, None)
            if element is None:
                return
            yield element


def check_spec(what: str, spec: Any, request: Request, expected: str) -> None:
    """Raises `InputError` unless a dataset's elements are {input name: dense tensor}.

    Args:
      what: beginning of messages.
      spec: of an element.
      request: names the inputs.
      expected: the result that the user's function should have.
    """
    require(isinstance(spec, Mapping), what, spec, f"must be {expected}")
    for name, each in request.select(what, spec).items():
        require(isinstance(each, tf.TensorSpec), what, each, f"{name!r} must be {request.inputs[name].text}")


def _numpy_elements(call: Callable[[], Any]) -> Iterator[Any]:
    """Returns the elements of a dataset, as arrays, or of another iterable."""
    if tf.executing_eagerly():
        made = call()
        return _with_threads(made).as_numpy_iterator() if isinstance(made, tf.data.Dataset) else iter(made)
    graph = tf.Graph()
    with graph.as_default():
        made = call()
        if not isinstance(made, tf.data.Dataset):
            return iter(made)
        iterator = v1.data.make_initializable_iterator(made)
        return _run_until_end(graph, iterator.initializer, iterator.get_next())


def _run_until_end(graph: tf.Graph, initializer: tf.Operation, element: Any) -> Iterator[Any]:
    with v1.Session(graph=graph) as session:
        session.run(initializer)
        while True:
            try:
                yield session.run(element)
            except tf.errors.OutOfRangeError:
                return


def _with_threads(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Gives a dataset threads of its own, unless it has some."""
    options = tf.data.Options()
    given = dataset.options().threading.private_threadpool_size
    options.threading.private_threadpool_size = _THREADS if given is None else given
    return dataset.with_options(options)
