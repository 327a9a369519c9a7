"""Ctrl-C ends a command as ever until there are results, and asks for an early end from then on."""

import os
import signal

import pytest

from parity.processes.interruption import interruptible


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def test_without_results_the_command_ends():
    with pytest.raises(KeyboardInterrupt), interruptible():
        interrupt()


def test_with_results_the_work_is_asked_to_end():
    with interruptible() as interruption:
        assert not interruption.asked
        interruption.keep_results()
        interrupt()
        assert interruption.asked
        interrupt()  # the same one again, as a parent passes it on
    with pytest.raises(KeyboardInterrupt):
        interrupt()


def test_work_that_does_not_ask_is_broken_off():
    with interruptible() as interruption:
        interruption.keep_results(raises=True)
        with pytest.raises(KeyboardInterrupt):
            interrupt()
        assert interruption.asked
