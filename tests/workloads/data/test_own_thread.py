"""A thread of one's own: away from the caller's graph, in order, with results and exceptions handed back."""

import threading

import pytest
import tensorflow as tf

from workloads.data.own_thread import OwnThread


def test_a_call_is_outside_of_the_callers_graph():
    thread = OwnThread()
    with tf.Graph().as_default():
        assert not tf.executing_eagerly() and thread.run(tf.executing_eagerly)


def test_all_calls_are_made_in_one_thread():
    thread = OwnThread()
    numbers = {thread.run(threading.get_ident) for _ in range(3)}
    assert len(numbers) == 1 and threading.get_ident() not in numbers


def test_arguments_results_and_exceptions():
    assert OwnThread().run(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        OwnThread().run(divmod, 7, 0)
