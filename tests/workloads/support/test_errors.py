"""Refusals: the message and when it is raised; the docstring's examples hold."""

import doctest

import pytest
import tensorflow as tf

from workloads.support import errors


def test_the_message_names_argument_value_and_what_is_allowed():
    errors.require([1], "--x", 1, "anything")
    with pytest.raises(errors.InputError, match=r"^--x: got 'a', must be b$"):
        errors.require([], "--x", "a", "must be b")


def test_examples():
    found = doctest.testmod(errors)
    assert found.attempted == 3 and found.failed == 0


@pytest.mark.parametrize(
    "fails, is_of_sizes",
    [
        (lambda: tf.raw_ops.Slice(input=tf.zeros([]), begin=[0, 1], size=[-1, 1]), True),  # fewer dimensions
        (lambda: tf.raw_ops.Slice(input=tf.zeros([2, 3]), begin=[0, 1], size=[1, 3]), True),
        (lambda: tf.raw_ops.ConcatV2(values=[tf.zeros([2, 3]), tf.zeros([3, 2])], axis=0), True),
        (lambda: tf.raw_ops.Reshape(tensor=tf.zeros([6]), shape=[4]), True),
        (lambda: tf.raw_ops.GatherV2(params=tf.zeros([3]), indices=[5], axis=0), False),  # a value, not a size
    ],
)
def test_sizes_that_do_not_fit_are_told_from_values(fails, is_of_sizes):
    with pytest.raises(tf.errors.OpError) as error:
        fails()
    assert errors.is_about_sizes(error.value.message) == is_of_sizes
