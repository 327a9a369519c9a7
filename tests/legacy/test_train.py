"""The cluster and the task that `legacy.train` is given."""

import doctest

import pytest

from tests.own_flags import own_flags
from workloads.support.errors import InputError
from workloads.training import flags as training_flags  # noqa: F401  defines its flags once in a process

with own_flags(shared=False):
    from legacy import train


def test_examples():
    found = doctest.testmod(train)
    assert found.attempted == 2 and found.failed == 0


@pytest.mark.parametrize("text", ["worker=2", "worker=0;ps=1", "worker=a:1;ps=b", "worker=:1;ps=b:1", "worker;ps"])
def test_what_is_no_cluster_is_refused(text):
    with pytest.raises(InputError, match="^--cluster: got "):
        train.parse_cluster(text)


def test_a_task_must_be_in_the_cluster():
    cluster = {"worker": ["a:1", "b:1"], "ps": ["c:1"]}
    assert train.parse_task("worker:1", cluster) == ("worker", 1) and train.parse_task("ps:0", cluster) == ("ps", 0)
    for text in ("worker:2", "ps", "chief:0", None):
        with pytest.raises(InputError, match="--task: got .*allowed: worker:0, worker:1, ps:0"):
            train.parse_task(text, cluster)
