"""The list scheduler on tasks whose times are powers of two."""

import pytest

from parity.prediction.schedule import COMPUTE, COPY, Task, end_of, schedule


def task(name, seconds, resource, *needs):
    """A task on one resource that is also its device."""
    seconds = seconds if isinstance(seconds, tuple) else (seconds,)
    return Task(name, COMPUTE, seconds, (resource,), (resource,), needs)


def spans(placed):
    """{task's name: (start, end)}."""
    return {here.task.name: (here.start, here.end) for here in placed}


def test_a_chain_takes_the_sum_of_its_parts():
    placed = schedule([task("b", 2.0, "GPU:0", "a"), task("a", 4.0, "GPU:0")])
    assert spans(placed) == {"a": (0, 4), "b": (4, 6)}
    assert end_of(placed) == 6


def test_devices_run_side_by_side_and_each_runs_one_op_at_a_time():
    placed = schedule([task("a", 4.0, "GPU:0"), task("b", 4.0, "GPU:1"), task("c", 1.0, "GPU:1")])
    assert spans(placed) == {"a": (0, 4), "b": (0, 4), "c": (4, 5)}


def test_a_copy_overlaps_what_does_not_need_it():
    copy = Task("copy", COPY, (8.0,), ("host to GPU:0",), ("GPU:0",), ())
    placed = schedule([copy, task("a", 2.0, "GPU:0"), task("b", 1.0, "GPU:0", "copy")])
    assert spans(placed) == {"copy": (0, 8), "a": (0, 2), "b": (8, 9)}


def test_a_task_takes_the_lanes_that_are_free_and_of_use():
    wide = (8.0, 4.0, 2.0, 1.0)  # on 1, 2, 3, 4 lanes
    placed = schedule([task("one", 16.0, "CPU:0"), task("wide", wide, "CPU:0")], {"CPU:0": 3})
    assert spans(placed) == {"one": (0, 16), "wide": (0, 4)}
    assert spans(schedule([task("wide", wide[:2], "CPU:0")], {"CPU:0": 3})) == {"wide": (0, 4)}


def test_a_task_of_two_resources_waits_for_both():
    peer = Task("peer", COPY, (2.0,), ("GPU:0 sends", "GPU:1 receives"), ("GPU:0", "GPU:1"), ())
    busy = Task("busy", COPY, (4.0,), ("GPU:1 receives",), ("GPU:1",), ())
    assert spans(schedule([busy, peer])) == {"busy": (0, 4), "peer": (4, 6)}


def test_tasks_that_wait_for_each_other_are_refused():
    with pytest.raises(ValueError, match="wait for each other, or for none: a, b"):
        schedule([task("a", 1.0, "GPU:0", "b"), task("b", 1.0, "GPU:0", "a")])
    with pytest.raises(ValueError, match="wait for each other"):
        schedule([task("a", 1.0, "GPU:0", "nowhere")])
