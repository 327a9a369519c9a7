"""Inputs of random programs, and what is done to them before the towers' layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tests.legacy.random_programs.traits import Traits

v1 = tf.compat.v1
#: Examples of a tower, numbers of an example, classes.
BATCH, WIDTH, CLASSES = 4, 12, 3

#: A tower's (examples, labels).
Examples = tuple[tf.Tensor, tf.Tensor]


def examples_of_towers(traits: Traits) -> Callable[[int], Examples]:
    """Makes the inputs; returns the function that gives a tower its examples, called once for each tower in turn."""
    examples = _dealt(traits)
    first: list[Examples] = []

    def of_first_tower() -> Examples:
        """Its part, cut again; what it read, where every call reads anew."""
        return first[0] if traits.inputs in ("each", "iterator", "queue", "drawn") else examples(0)

    def with_fault(tower: int) -> Examples:
        if traits.fault == "same batch" and first:
            return of_first_tower()
        x, y = examples(tower)
        first.append((x, y))
        return x, of_first_tower()[1] if traits.fault == "labels of the first tower" else y

    return with_fault


def _dealt(traits: Traits) -> Callable[[int], Examples]:
    towers, kind = traits.towers, tf.int32 if traits.model == "embedding" else tf.float32
    if traits.prepared == "bytes scaled" and kind == tf.float32:
        kind = tf.uint8

    def placeholders(*rows: Any) -> Examples:
        return _prepared(traits, v1.placeholder(kind, [*rows, WIDTH], "x"), v1.placeholder(tf.int32, [*rows], "y"))

    if traits.inputs == "each":
        return lambda tower: placeholders(BATCH)
    if traits.inputs == "queue":
        queue = v1.FIFOQueue(64, [kind, tf.int32], shapes=[[WIDTH], []])
        return lambda tower: _prepared(traits, *queue.dequeue_many(BATCH))
    if traits.inputs == "drawn":
        rows, labels = tf.zeros([64, WIDTH], kind), tf.zeros([64], tf.int32)

        def drawn(tower: int) -> Examples:
            chosen = v1.random_uniform([BATCH], 0, 64, tf.int32)
            return _prepared(traits, tf.gather(rows, chosen), tf.gather(labels, chosen))

        return drawn
    if traits.inputs == "iterator":
        numbers = tf.zeros([64, WIDTH], kind), tf.zeros([64], tf.int32)
        data = tf.data.Dataset.from_tensor_slices(numbers).repeat().batch(BATCH, drop_remainder=True)
        iterator = v1.data.make_one_shot_iterator(data)
        return lambda tower: _prepared(traits, *iterator.get_next())
    if traits.inputs == "unstacked":
        x, y = placeholders(towers, BATCH)
        return lambda tower: (x[tower], y[tower])
    x, y = placeholders(None if traits.inputs == "open" else towers * BATCH)
    if traits.inputs == "tf.slice":
        return lambda tower: (_rows(x, tower * BATCH), _rows(y, tower * BATCH))
    if traits.inputs == "slices":
        stride = {"rows overlap": BATCH - 1, "rows left out": BATCH - 1}.get(traits.fault, BATCH)
        size = stride if traits.fault == "rows left out" else BATCH
        part = lambda tower: slice(tower * stride, tower * stride + size)  # noqa: E731
        return lambda tower: (x[part(tower)], y[part(tower)])
    xs, ys = tf.split(x, towers), tf.split(y, towers)
    return lambda tower: (xs[tower], ys[tower])


def _rows(x: tf.Tensor, first: int) -> tf.Tensor:
    return tf.slice(x, [first] + [0] * (x.shape.rank - 1), [BATCH] + [-1] * (x.shape.rank - 1))


def _prepared(traits: Traits, x: tf.Tensor, y: tf.Tensor) -> Examples:
    """Examples and labels after what the program does to them."""
    if traits.prepared == "one-hot labels":
        y = tf.one_hot(y, CLASSES)
    if x.dtype == tf.uint8:
        x = tf.cast(x, tf.float32) / 255.0
    elif x.dtype == tf.float32 and traits.prepared == "centered":
        x = (x - 0.45) / 0.22
    elif x.dtype == tf.float32 and traits.prepared == "flipped":
        is_flipped = v1.random_uniform(tf.concat([tf.shape(x)[:-1], [1]], 0)) < 0.5
        x = tf.where(tf.broadcast_to(is_flipped, tf.shape(x)), tf.reverse(x, [-1]), x)
    return x, y
