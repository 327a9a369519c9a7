"""Choices that compute what may fail only where their branch is taken."""

import pytest
import tensorflow as tf

from legacy.source.basics.branches import GUARDED
from legacy.source.basics.rendering import expression_text
from legacy.source.basics.unwritten import Unwritten
from legacy.source.definitions.conditionals import Conditionals
from legacy.source.definitions.recovery import Recovery
from tests.legacy.source.tiny import recovered

v1 = tf.compat.v1


def choice(taken, names=()):
    """A choice by x of `taken(w)`, whose ops of some names may fail, or of x."""

    def build(x, w):
        made = taken(w)
        chosen = tf.raw_ops.SelectV2(condition=tf.reduce_sum(x) > 0.0, t=made, e=x)
        if names:
            listed = v1.AttrValue.ListValue(s=[name.encode() for name in names])
            chosen.op._set_attr(GUARDED, v1.AttrValue(list=listed))
        return chosen

    recovery, (end,) = recovered(build, {"x": [3]}, {"w": [4, 3]}, batch=4)
    assert isinstance(recovery, Recovery) and isinstance(recovery._conditionals, Conditionals)
    return expression_text(recovery.definition(end.tensor).expression)


def test_an_op_that_may_fail_is_computed_in_its_branch():
    assert "tf.cond(" in choice(lambda w: tf.sqrt(w, name="root"), ["root"])
    assert "lambda: tf.sqrt(<w:0>)" in choice(lambda w: tf.sqrt(w, name="root"), ["root"])


def test_other_choices_are_computed_on_both_sides():
    assert choice(lambda w: tf.sqrt(w, name="root")).startswith("tf.where(")


def test_a_guarded_op_that_neither_branch_computes_is_not_written():
    def taken(w):
        tf.sqrt(w, name="unused")
        return tf.sqrt(w, name="root")

    with pytest.raises(Unwritten, match="a branch of .* keeps 'unused' .Sqrt. from some numbers"):
        choice(taken, ["root", "unused"])


def test_what_an_idiom_computes_is_in_the_branch_with_it():
    """The root of a normalization is no value of the text, and the normalization stands for it."""

    def normalized(w):
        mean, variance = tf.nn.moments(w, [0])
        return tf.nn.batch_normalization(w, mean, variance, w[0], w[1], 1e-3, name="normalized")

    text = choice(normalized, ["normalized/Rsqrt"])
    assert "lambda: tf.nn.batch_normalization(" in text and text.startswith("tf.cond(")


def test_numbers_that_two_choices_use_are_not_drawn_twice():
    def build(x, w):
        drawn = tf.raw_ops.RandomShuffle(value=w, seed=1, seed2=2, name="drawn")
        ends = []
        for made in (drawn, drawn * 2.0):
            chosen = tf.raw_ops.SelectV2(condition=tf.reduce_sum(x) > 0.0, t=made, e=x)
            chosen.op._set_attr(GUARDED, v1.AttrValue(list=v1.AttrValue.ListValue(s=[b"drawn"])))
            ends.append(chosen)
        return ends

    with pytest.raises(Unwritten, match="'drawn' .RandomShuffle. is drawn once for several choices"):
        recovered(build, {"x": [3]}, {"w": [4, 3]}, batch=4)
