"""Flags of the commands that read a saved graph."""

from __future__ import annotations

import pytest
from absl import flags

from legacy.saved_graph_flags import define_graph_flags, feed_from_flags
from workloads.support.errors import InputError


def parsed(*arguments):
    values = flags.FlagValues()
    define_graph_flags(values)
    values(["command", *arguments])
    return values


def test_without_flags_the_graph_says_everything():
    values = parsed()
    assert (values.train_op, values["with"].value, values.layout) == ([], [], None) and feed_from_flags(values) == {}


def test_what_was_fed_is_by_placeholder():
    assert feed_from_flags(parsed("--feed=keep_prob=0.5,is_training=True")) == {
        "keep_prob": "0.5",
        "is_training": "True",
    }


def test_a_placeholder_without_a_value_is_refused():
    with pytest.raises(InputError, match="--feed: "):
        feed_from_flags(parsed("--feed=keep_prob"))


def test_an_unknown_layout_is_refused():
    with pytest.raises(flags.IllegalFlagValueError):
        parsed("--layout=CHWN")
