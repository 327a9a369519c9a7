"""Refusals: the message and when it is raised; the docstring's examples hold."""

import doctest

import pytest

from workloads.support import errors


def test_the_message_names_argument_value_and_what_is_allowed():
    errors.require([1], "--x", 1, "anything")
    with pytest.raises(errors.InputError, match=r"^--x: got 'a', must be b$"):
        errors.require([], "--x", "a", "must be b")


def test_examples():
    found = doctest.testmod(errors)
    assert found.attempted == 3 and found.failed == 0
