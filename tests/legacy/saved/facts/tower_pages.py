"""Pages of small programs of two towers, whose losses and updates a test chooses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.rows import Row, Sections
from legacy.saved.facts.program_facts import program_facts
from legacy.saved.hazards.search import find_hazards
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1
TOWERS = 2
#: (gradient, variable) pairs.
Pairs = Sequence[Any]


def variable(name: str, *shape: int, trainable: bool = True, value: float | None = None) -> tf.Variable:
    """A variable by reference, as of 1.x, that all towers share."""
    initializer = None if value is None else v1.constant_initializer(value)
    with v1.variable_scope("", reuse=v1.AUTO_REUSE):
        return v1.get_variable(name, shape, initializer=initializer, trainable=trainable, use_resource=False)


def mean(gradients: Sequence[tf.Tensor]) -> tf.Tensor:
    """The mean of the towers' gradients."""
    return tf.add_n(list(gradients)) / len(gradients)


def descend(pairs: Pairs) -> None:
    """Makes the train op: gradient descent."""
    v1.train.GradientDescentOptimizer(0.1).apply_gradients(pairs, name="train")


def program(
    loss: Callable[[int], tf.Tensor],
    update: Callable[[Pairs], object] = descend,
    combine: Callable[[Sequence[tf.Tensor]], tf.Tensor] = mean,
) -> Callable[[], None]:
    """Returns a function that makes a program of two towers.

    Args:
      loss: makes a tower's loss, given its number.
      update: makes the train op "train" of (combined gradient, variable) pairs.
      combine: combines the towers' gradients.
    """

    def build() -> None:
        towers = []
        for tower in range(TOWERS):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                value = loss(tower)
                trained = v1.trainable_variables()
                towers.append(tf.gradients(value, trained))
        update([(combine(row), weight) for row, weight in zip(zip(*towers), trained)])

    return build


def sections_of(build: Callable[[], None], train_op: Sequence[str] = ("train",)) -> Sections:
    """Returns the sections of the page of a program, with its hazards."""
    names: list[str] = []

    def named() -> None:
        build()
        names.extend(weight.op.name for weight in v1.trainable_variables())

    graph = saved(traced(named), trainable_variables=names)
    found = analyse_graph(graph, "small", train_op)
    return {**program_facts(graph, found), "hazards": find_hazards(graph, found)}


def analysed_step(build: Callable[[], None], train_op: Sequence[str] = ("train",)) -> AnalysedStep:
    """Returns the analysed training step of a program."""
    names: list[str] = []

    def named() -> None:
        build()
        names.extend(weight.op.name for weight in v1.trainable_variables())

    graph = traced(named)
    return AnalysedStep(analyse_graph(saved(graph, trainable_variables=names), "small", train_op))


def watched(sections: Sections) -> list[str]:
    """The sentences of "watch"."""
    return [row["what"] for row in sections["watch"]]


def hazards(sections: Sections) -> list[str]:
    """The names of the hazards."""
    return [row["hazard"] for row in sections["hazards"]]


def only(rows: Sequence[Row]) -> Row:
    """The one row of a section."""
    (row,) = rows
    return row


def parts(name: str, *shape: int, dtype: tf.DType = tf.float32) -> Callable[[int], tf.Tensor]:
    """The towers' halves of a batch, each made when its tower asks for it."""
    batch = v1.placeholder(dtype, shape, name)
    return lambda tower: tf.split(batch, 2)[tower]


def squares(x: tf.Tensor) -> tf.Tensor:
    """The mean of the squares of a layer's results, for x [batch, 3]."""
    return tf.reduce_mean(tf.square(tf.matmul(x, variable("w", 3, 2))))


def of_frames(frames: int, labels: int, total: Callable[[tf.Tensor], tf.Tensor]) -> Sections:
    """Each tower's loss is that of `labels` clips, of some frames each; `total` makes it of the clips' errors."""

    def build():
        x, y = parts("frames", frames, 3), parts("labels", labels)

        def loss(tower):
            each = tf.reduce_mean(tf.reshape(tf.matmul(x(tower), variable("w", 3, 1)), [labels // 2, -1]), 1)
            return total(tf.abs(each - y(tower)))

        return program(loss)()

    return sections_of(build)
