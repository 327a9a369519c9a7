"""The cluster and the task that `legacy.train` is given."""

import doctest
import importlib

import pytest

from workloads.support.errors import InputError


@pytest.fixture(scope="module")
def train():
    """The module, with flag values of its own: other commands define flags of the same names in this process."""
    from absl import flags

    from workloads.training import flags as training_flags  # noqa: F401  defines them once

    values = flags.FlagValues()
    kept = flags.DEFINE_string
    flags.DEFINE_string = lambda *arguments, **named: kept(*arguments, **{**named, "flag_values": values})
    try:
        return importlib.import_module("legacy.train")
    finally:
        flags.DEFINE_string = kept


def test_examples(train):
    found = doctest.testmod(train)
    assert found.attempted == 2 and found.failed == 0


@pytest.mark.parametrize("text", ["worker=2", "worker=0;ps=1", "worker=a:1;ps=b", "worker=:1;ps=b:1", "worker;ps"])
def test_what_is_no_cluster_is_refused(train, text):
    with pytest.raises(InputError, match="^--cluster: got "):
        train.parse_cluster(text)


def test_a_task_must_be_in_the_cluster(train):
    cluster = {"worker": ["a:1", "b:1"], "ps": ["c:1"]}
    assert train.parse_task("worker:1", cluster) == ("worker", 1) and train.parse_task("ps:0", cluster) == ("ps", 0)
    for text in ("worker:2", "ps", "chief:0", None):
        with pytest.raises(InputError, match="--task: got .*allowed: worker:0, worker:1, ps:0"):
            train.parse_task(text, cluster)
