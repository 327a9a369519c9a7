"""Arguments of the commands that read a saved graph."""

from __future__ import annotations

import os

import pytest
from absl import flags

from legacy.saved_graph_flags import define_graph_flags, feed_from_flags, graph_size
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


def test_the_graph_of_a_folder_or_a_checkpoint_is_named(tmp_path):
    for number, name in enumerate(["m-1.meta", "m-2.meta", "m-2.index", "m-2.data-00000-of-00001"]):
        (tmp_path / name).write_bytes(b"12345")
        os.utime(tmp_path / name, (number, number))
    assert graph_size(str(tmp_path / "m-1.meta")) == 5
    newest = str(tmp_path / "m-2.meta")
    with pytest.raises(InputError, match=f"is a folder; name a graph in it, such as {newest}"):
        graph_size(str(tmp_path))
    for name in ("m-2", "m-2.index", "m-2.data-00000-of-00001"):
        with pytest.raises(InputError, match=f"is a checkpoint; its graph is {newest}"):
            graph_size(str(tmp_path / name))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="is a folder; name a graph in it, of which it has none"):
        graph_size(str(tmp_path / "empty"))
    with pytest.raises(InputError, match="cannot read .*: No such file"):
        graph_size(str(tmp_path / "m-3.meta"))
