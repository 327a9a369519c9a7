"""A piece of an old graph as a function of what one replica has at hand in a step."""

from __future__ import annotations

import collections

import tensorflow as tf

from workloads.lifted.graph import split
from workloads.lifted.noise import key_of
from workloads.support.errors import InputError


class Values:
    """What the pieces of one replica's step are fed with."""

    def __init__(self, job, replica, step, batch, variables):
        self._job, self._replica, self._step = job, replica, step
        self.batch = batch
        self.variables = variables
        self.crossings = {}
        self.needed = set()
        self._counts = collections.Counter()
        self._read = {}

    def read(self, variable, version):
        """A variable's value after `version` changes in this step."""
        if (variable, version) not in self._read:
            if version != self._counts[variable]:
                raise InputError(
                    f"lift: {variable!r} is used after {version} changes, and has {self._counts[variable]}"
                )
            self._read[variable, version] = self.variables[variable].read_value()
        return self._read[variable, version]

    def before_change(self, variables):
        """Reads what somebody will still need of variables that are about to change."""
        for variable in variables:
            key = (variable, self._counts[variable])
            if key in self.needed:
                self.read(*key)
        self._counts.update(variables)

    def key(self, name, common):
        """int32 [2]: the key of the noise called `name` in this step, this replica's or one for all."""
        key = tf.constant(key_of(self._job.seed, None if common else self._replica, name), tf.int32)
        return tf.stack([key, tf.cast(self._step, tf.int32)])


class Function:
    """A piece as something to call.

    Args:
      piece: `pieces.Piece`.
      inputs: {tensor: input's name}.
      noise: {random node: the noise's name}.
      common: whether it is computed once for all replicas, so that all draw the same noise.
    """

    def __init__(self, piece, inputs, noise, common):
        self._piece, self._inputs, self._noise, self._common = piece, inputs, noise, common
        self._wrapped = None

    @property
    def feeds(self):
        """What it is fed with: `pieces.Feed`s."""
        return self._piece.feeds

    def __call__(self, values):
        arguments = self.arguments(values)
        if self._wrapped is None:
            # Made once, and not by tf.function: its automatic control dependencies would tie a loop's frames together.
            with tf.init_scope():
                signature = [tf.TensorSpec(argument.shape, argument.dtype) for argument in arguments]
                self._wrapped = tf.compat.v1.wrap_function(self._import, signature)
        return self._wrapped(*arguments)

    def arguments(self, values):
        """What it is fed with, in order."""
        return [self._argument(feed, values) for feed in self._piece.feeds]

    def _import(self, *arguments):
        fed = {feed.placeholder + ":0": a for feed, a in zip(self._piece.feeds, arguments)}
        return tf.import_graph_def(self._piece.graph_def, input_map=fed, return_elements=self._piece.fetches, name="")

    def _argument(self, feed, values):
        if feed.kind == "read":
            return values.read(*feed.key)
        if feed.kind == "noise":
            return values.key(self._noise[feed.key], self._common)
        if feed.kind == "drawn":
            node, output = split(feed.key)
            return values.batch[f"noise/{self._noise[node]}/{output}"]
        if feed.key in self._inputs:
            return values.batch[self._inputs[feed.key]]
        return values.crossings[feed.key]
