"""A piece of an old graph as a function of the values that one replica has in a step."""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import tensorflow as tf

from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.graph.importing import import_graph
from workloads.lifted.pieces.noise import noise_input, noise_key
from workloads.lifted.pieces.piece import Feed, Piece, VariableVersion
from workloads.support.errors import InputError

#: Tensors by name.
Tensors = dict[str, tf.Tensor]


class StepValues:
    """The values that the pieces of one replica's step are fed with.

    Args:
      seed: the job's seed.
      replica: number of the replica.
      step: int64 scalar, number of the step.
      batch: {input name: tensor} of the replica.
      variables: {name: the replica's variable}.

    Attributes:
      replica, step, batch, variables: as given.
      crossings: {tensor of the graph: value} of what has left the towers so far.
      needed: versions of variables that some piece will read.
    """

    def __init__(
        self, seed: int, replica: int, step: tf.Tensor, batch: Tensors, variables: dict[str, tf.Variable]
    ) -> None:
        self._seed, self.replica, self.step = seed, replica, step
        self.batch = batch
        self.variables = variables
        self.crossings: Tensors = {}
        self.needed: set[VariableVersion] = set()
        self._changes: collections.Counter[str] = collections.Counter()
        self._read: dict[VariableVersion, tf.Tensor] = {}

    def read(self, wanted: VariableVersion) -> tf.Tensor:
        """Returns a variable's value after some of this step's changes.

        Raises:
          InputError: the variable has by now more or fewer changes, and the value was not read in time.
        """
        if wanted not in self._read:
            changes = self._changes[wanted.variable]
            if wanted.version != changes:
                raise InputError(f"lift: {wanted.variable!r} is used after {wanted.version} changes, and has {changes}")
            self._read[wanted] = self.variables[wanted.variable].read_value()
        return self._read[wanted]

    def before_change(self, variables: Iterable[str]) -> None:
        """Counts a change of variables; reads first those values that some piece still needs."""
        for variable in variables:
            present = VariableVersion(variable, self._changes[variable])
            if present in self.needed:
                self.read(present)
        self._changes.update(variables)

    def key(self, stream: str, common: bool) -> tf.Tensor:
        """Returns the key of a noise stream in this step, int32 [2]: this replica's, or the one that all share."""
        key = tf.constant(noise_key(self._seed, None if common else self.replica, stream), tf.int32)
        return tf.stack([key, tf.cast(self.step, tf.int32)])


class PieceFunction:
    """A piece as a function of `StepValues`.

    Args:
      piece: the piece.
      inputs: {tensor: input's name}.
      noise: {random node: stream's name}.
      common: random nodes whose numbers are drawn once for all replicas.
    """

    def __init__(
        self, piece: Piece, inputs: Mapping[str, str], noise: Mapping[str, str], common: Collection[str] = ()
    ) -> None:
        self._piece, self._inputs, self._noise, self._common = piece, inputs, noise, common
        self._wrapped: Any = None
        self._hides_sizes = False

    @property
    def reads(self) -> list[VariableVersion]:
        """Versions of variables that it reads."""
        return self._piece.reads

    @property
    def cuts(self) -> list[str]:
        """Names of the cut tensors that it is fed with."""
        return [str(feed.key) for feed in self._piece.feeds if feed.kind == "cut"]

    def __call__(self, values: StepValues) -> list[tf.Tensor]:
        """Returns the values of the piece's fetches."""
        arguments = self.arguments(values)
        if self._wrapped is None:
            try:
                self._wrapped = self._wrap(arguments)
            except InputError:
                self._hides_sizes = True
                self._wrapped = self._wrap(self._with_hidden_sizes(arguments))
        return self._wrapped(*(self._with_hidden_sizes(arguments) if self._hides_sizes else arguments))

    def arguments(self, values: StepValues) -> list[tf.Tensor]:
        """Returns the values of the piece's feeds."""
        return [self._argument(feed, values) for feed in self._piece.feeds]

    def _wrap(self, arguments: list[tf.Tensor]) -> Any:
        """Returns the piece as a function of arguments of these shapes and dtypes.

        It is made once, and not by tf.function: its automatic control dependencies would tie a loop's frames together.
        """
        with tf.init_scope():
            signature = [tf.TensorSpec(argument.shape, argument.dtype) for argument in arguments]
            return tf.compat.v1.wrap_function(self._import, signature)

    def _with_hidden_sizes(self, arguments: list[tf.Tensor]) -> list[tf.Tensor]:
        """Returns the arguments with the static shapes that the old graph knows.

        It leaves dimensions open, and may hold a branch that does not go with their sizes and is not taken with them,
        such as that of a CRF for sequences of one word.
        """
        pairs = zip(self._piece.feeds, arguments)
        return [tf.compat.v1.placeholder_with_default(argument, feed.shape) for feed, argument in pairs]

    def _import(self, *arguments: tf.Tensor) -> list[tf.Tensor]:
        fed = {feed.placeholder + ":0": argument for feed, argument in zip(self._piece.feeds, arguments)}
        return import_graph(self._piece.graph_def, fed, self._piece.fetches)

    def _argument(self, feed: Feed, values: StepValues) -> tf.Tensor:
        key = feed.key
        if isinstance(key, VariableVersion):
            return values.read(key)
        if feed.kind == "noise":
            return values.key(self._noise[key], key in self._common)
        if feed.kind == "drawn":
            node, output = parse_tensor_name(key)
            return values.batch[noise_input(self._noise[node], output)]
        if key in self._inputs:
            return values.batch[self._inputs[key]]
        return values.crossings[key]
