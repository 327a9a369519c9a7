import doctest
import os
import threading

import pytest

from modern.multi_worker import local_servers


def test_addresses_are_divided_among_workers_servers_and_coordinator():
    cluster = local_servers.divide_addresses(["a:1", "b:2", "c:3", "d:4", "e:5"], 1)
    assert cluster == {"worker": ["a:1"], "ps": ["b:2", "c:3", "d:4"], "chief": ["e:5"]}


def test_the_coordinator_is_the_chief_of_the_cluster():
    cluster = local_servers.divide_addresses(["a:1", "b:2", "c:3"], 1)
    resolver = local_servers.coordinator_resolver(cluster)
    assert (resolver.task_type, resolver.task_id, resolver.rpc_layer) == ("chief", 0, "grpc")
    assert resolver.cluster_spec().as_dict() == cluster


class Child:
    """Stands in for a child process; the third of a cluster cannot be started."""

    made = []

    def __init__(self, name, target, arguments, exact):
        if len(self.made) == 2:
            raise OSError("no more processes")
        self.made.append(name)


def test_children_are_ended_when_one_cannot_be_started(monkeypatch):
    stopped = []
    monkeypatch.setattr(local_servers.child_processes, "Child", Child)
    monkeypatch.setattr(local_servers.child_processes, "stop_all", lambda children: stopped.extend(children))
    with pytest.raises(OSError, match="no more processes"):
        local_servers.LocalServers(2, 1)
    assert Child.made == ["worker 0", "worker 1"] and len(stopped) == 2


@pytest.fixture
def piped_servers(monkeypatch):
    """Two workers and a parameter server, each of which ends when its pipe's end is closed: {name: that end}."""
    ends = {}

    class Piped:
        def __init__(self, name, target, arguments, exact):
            self.sentinel, ends[name] = os.pipe()

    monkeypatch.setattr(local_servers.child_processes, "Child", Piped)
    monkeypatch.setattr(local_servers.child_processes, "receive_from_all", lambda children: None)
    monkeypatch.setattr(local_servers.child_processes, "stop_all", lambda children: None)
    return local_servers.LocalServers(2, 1), ends


def test_the_loss_of_all_workers_is_noticed_and_that_of_one_is_not(piped_servers):
    servers, ends = piped_servers
    lost = threading.Event()
    thread = servers.watch_workers(lost.set)
    os.close(ends["worker 1"])
    assert not lost.wait(0.1)
    os.close(ends["worker 0"])
    thread.join(60)
    assert lost.is_set()


def test_workers_that_are_ended_on_purpose_are_not_lost(piped_servers):
    servers, ends = piped_servers
    lost = threading.Event()
    thread = servers.watch_workers(lost.set)
    servers.close()
    os.close(ends["worker 0"])
    os.close(ends["worker 1"])
    thread.join(60)
    assert not thread.is_alive() and not lost.is_set()


def test_an_exception_that_ends_servers_is_kept_with_its_frames(piped_servers, monkeypatch):
    servers, _ = piped_servers
    kept = []
    monkeypatch.setattr(local_servers, "_kept", kept)
    with servers:
        pass
    assert not kept
    with pytest.raises(KeyboardInterrupt) as raised, servers:
        raise KeyboardInterrupt
    assert kept == [raised.value]


@pytest.mark.parametrize("ended", [[], ["worker 1"], ["ps 0"]])
def test_all_run_until_one_has_ended(monkeypatch, ended):
    class Running:
        def __init__(self, name, target, arguments, exact):
            self.sentinel, self.alive = 0, name not in ended

    monkeypatch.setattr(local_servers.child_processes, "Child", Running)
    monkeypatch.setattr(local_servers.child_processes, "receive_from_all", lambda children: None)
    assert local_servers.LocalServers(2, 1).all_running is not bool(ended)


def test_the_examples_in_the_documentation_hold():
    assert doctest.testmod(local_servers).failed == 0
