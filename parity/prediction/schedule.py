"""List scheduler: puts the ops and copies of a step on processors and links, each as soon as it is ready."""

from __future__ import annotations

import collections
import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple

#: Kinds of tasks.
COMPUTE, COPY, ALL_REDUCE = "compute", "copy", "all-reduce"


class Task(NamedTuple):
    """Something that takes time.

    Attributes:
      name: unique.
      kind: `COMPUTE`, `COPY` or `ALL_REDUCE`.
      seconds: on 1, 2, ... lanes of its first resource.
      resources: the processors or links that it occupies at the same time.
      devices: the devices whose timeline shows it.
      needs: names of the tasks that must end before.
    """

    name: str
    kind: str
    seconds: tuple[float, ...]
    resources: tuple[str, ...]
    devices: tuple[str, ...]
    needs: tuple[str, ...] = ()


class Placed(NamedTuple):
    """A task in time.

    Attributes:
      task: the task.
      start: seconds after the step began.
      end: seconds after the step began.
    """

    task: Task
    start: float
    end: float


class _Resource:
    """A processor or a link: the times at which its lanes are free."""

    def __init__(self, lanes: int) -> None:
        self.free = [0.0] * lanes

    def take(self, end: float, lanes: int) -> None:
        """Occupies the lanes that are free first."""
        self.free.sort()
        self.free[:lanes] = [end] * lanes


def schedule(tasks: Sequence[Task], lanes: dict[str, int] | None = None) -> list[Placed]:
    """Schedules tasks; each resource serves them in the order in which they become ready.

    A task starts as soon as one lane of each of its resources is free, and takes as many lanes of the first as are free
    then and of use to it.

    Args:
      tasks: in any order; what they need is among them.
      lanes: {resource: number of lanes}; 1 for any other.

    Returns:
      the tasks in time, in the order of their starts as they were decided.

    Raises:
      ValueError: tasks need each other in a circle, or one that is not there.
    """
    waits = {task.name: len(set(task.needs)) for task in tasks}
    after: dict[str, list[int]] = collections.defaultdict(list)
    for number, task in enumerate(tasks):
        for need in set(task.needs):
            after[need].append(number)
    ready_at = [0.0] * len(tasks)
    ready = [(0.0, number) for number, task in enumerate(tasks) if not waits[task.name]]
    heapq.heapify(ready)
    resources: dict[str, _Resource] = {}
    placed = []
    while ready:
        time, number = heapq.heappop(ready)
        here = _place(tasks[number], time, [_resource(name, resources, lanes) for name in tasks[number].resources])
        placed.append(here)
        for follower in after[tasks[number].name]:
            ready_at[follower] = max(ready_at[follower], here.end)
            waits[tasks[follower].name] -= 1
            if not waits[tasks[follower].name]:
                heapq.heappush(ready, (ready_at[follower], follower))
    if len(placed) < len(tasks):
        left = {task.name for task in tasks} - {here.task.name for here in placed}
        raise ValueError(f"tasks that wait for each other, or for none: {', '.join(sorted(left)[:5])}")
    return placed


def _resource(name: str, resources: dict[str, _Resource], lanes: dict[str, int] | None) -> _Resource:
    if name not in resources:
        resources[name] = _Resource((lanes or {}).get(name, 1))
    return resources[name]


def _place(task: Task, ready: float, resources: Sequence[_Resource]) -> Placed:
    start = max([ready, *(min(resource.free) for resource in resources)])
    taken = 1
    if resources:
        taken = min(len(task.seconds), sum(free <= start for free in resources[0].free))
    end = start + task.seconds[taken - 1]
    for number, resource in enumerate(resources):
        resource.take(end, taken if number == 0 else 1)
    return Placed(task, start, end)


def end_of(placed: Iterable[Placed]) -> float:
    """Returns the time at which the last task ends; 0 without tasks."""
    return max((here.end for here in placed), default=0.0)
