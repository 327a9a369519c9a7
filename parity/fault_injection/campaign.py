"""Campaign: all trials that a command line asks for, planned, shared among processes, and summed up."""

from __future__ import annotations

import multiprocessing.pool
import time
from collections.abc import Callable, Iterator, Sequence
from queue import Queue
from typing import TYPE_CHECKING, NamedTuple

from parity.fault_injection.trial_log import TrialKey
from parity.processes.pool import process_pool, queue_manager
from workloads.selection import registry

if TYPE_CHECKING:
    from parity.fault_injection.injected_faults import CauseAndFault, InjectedFaults
    from parity.fault_injection.trial_row import TimedTrialRow
    from workloads.workload import Workload

#: Trials that one process runs.
PORTION = 24

#: Seconds between two looks at the queue of finished trials.
PATIENCE = 0.1

#: The workload whose trials take longest; they are started first.
SLOWEST = "resnet18"


class Campaign(NamedTuple):
    """The faults to inject and where.

    Attributes:
      workloads: names of built-in workloads.
      replicas: numbers of replicas.
      only: names of faults or ids of causes; empty for all.
      pairs: two faults at once instead of each alone.
      done: trials that have ended and are not run again.
    """

    workloads: tuple[str, ...]
    replicas: tuple[int, ...]
    only: tuple[str, ...] = ()
    pairs: bool = False
    done: frozenset[TrialKey] = frozenset()


class Portion(NamedTuple):
    """Trials of one workload at one number of replicas that one process runs: `PORTION` of them from `first` on."""

    workload: str
    replicas: int
    first: int


def plan_trials(campaign: Campaign) -> list[InjectedFaults]:
    """Returns the campaign's trials on training runs that are not done, in the order of its workloads and replicas."""
    workloads = {name: registry.get(name) for name in campaign.workloads}
    trials = (
        _trial(key, faults, workloads[key.workload])
        for key, faults in _candidates(campaign)
        if key not in campaign.done
    )
    return [injected for injected in trials if injected is not None]


def _candidates(campaign: Campaign) -> Iterator[tuple[TrialKey, tuple[CauseAndFault, ...]]]:
    """Yields the key and the faults of each trial that is wanted; some cannot occur in their workload."""
    from parity.causes import catalogue
    from parity.fault_injection.pairs import PAIRS

    faults = {fault.name: (cause, fault) for cause in catalogue.CAUSES for fault in cause.faults}
    groups = PAIRS if campaign.pairs else [(name,) for name in faults]
    chosen = [tuple(faults[name] for name in names) for names in groups]
    for workload in campaign.workloads:
        for replicas in campaign.replicas:
            for group in chosen:
                if _is_wanted(group, campaign.only):
                    yield TrialKey(" + ".join(fault.name for _, fault in group), workload, replicas), group


def _trial(key: TrialKey, faults: Sequence[CauseAndFault], workload: Workload) -> InjectedFaults | None:
    """The trial of a fault, or of a pair of faults; None if it cannot occur in the workload."""
    from parity.fault_injection.injected_faults import fault_pair, single_fault

    if len(faults) == 1:
        return single_fault(*faults[0], key.workload, workload, key.replicas)
    return fault_pair(faults[0], faults[1], key.workload, workload, key.replicas)


def _is_wanted(faults: Sequence[CauseAndFault], only: Sequence[str]) -> bool:
    return not only or any(word in (cause.id, fault.name) for word in only for cause, fault in faults)


def speed_faults(campaign: Campaign) -> list[CauseAndFault]:
    """Returns the campaign's faults of speed that are not done; they are injected alone, into one workload."""
    from parity.causes import speed

    if campaign.pairs:
        return []
    every = [(cause, fault) for cause in speed.CAUSES for fault in cause.faults]
    return [one for one in every if _is_wanted([one], campaign.only) and _speed_key(one) not in campaign.done]


def _speed_key(one: CauseAndFault) -> TrialKey:
    from parity.fault_injection.speed_trial import REPLICAS, WORKLOAD

    return TrialKey(one[1].name, WORKLOAD, REPLICAS)


def candidate_keys(campaign: Campaign) -> set[TrialKey]:
    """Returns the keys of all trials that are wanted, those that are done and those that cannot occur included."""
    of_speed = speed_faults(campaign._replace(done=frozenset()))
    return {key for key, _ in _candidates(campaign)} | set(map(_speed_key, of_speed))


def run_campaign(
    campaign: Campaign, processes: int, report: Callable[[TimedTrialRow, int, int], object]
) -> list[TimedTrialRow]:
    """Runs all trials in several processes.

    Args:
      campaign: the faults to inject and where.
      processes: number of processes that share the work.
      report: called with (row, number done, number in all) as each trial ends.

    Returns:
      the rows of all trials, in the order in which they ended.
    """
    portions, total = plan_portions(campaign)
    rows: list[TimedTrialRow] = []
    with queue_manager() as manager, process_pool(processes, tasks_per_process=1) as pool:
        queue = manager.Queue()
        tasks = [
            pool.apply_async(_run_portion, (campaign, portion, queue), error_callback=print) for portion in portions
        ]
        if speed_faults(campaign):
            tasks.append(pool.apply_async(_run_speed_faults, (campaign, queue)))
        for row in _rows_as_they_come(tasks, queue):
            rows.append(row)
            report(row, len(rows), total)
    return rows


def plan_portions(campaign: Campaign) -> tuple[list[Portion], int]:
    """Divides a campaign's trials among tasks, those that take longest first.

    Returns:
      (portions, number of all trials, faults of speed included).
    """
    groups = sorted(
        ((name, replicas) for name in campaign.workloads for replicas in campaign.replicas),
        key=lambda group: (group[0] != SLOWEST, -group[1]),
    )
    sizes = {group: len(plan_trials(_only_group(campaign, *group))) for group in groups}
    portions = [Portion(*group, first) for group in groups for first in range(0, sizes[group], PORTION)]
    return portions, sum(sizes.values()) + len(speed_faults(campaign))


def _only_group(campaign: Campaign, workload: str, replicas: int) -> Campaign:
    return campaign._replace(workloads=(workload,), replicas=(replicas,))


def _rows_as_they_come(
    tasks: Sequence[multiprocessing.pool.AsyncResult[None]], queue: Queue[TimedTrialRow]
) -> Iterator[TimedTrialRow]:
    """Yields the rows that the tasks put into the queue; raises the error of a task that failed."""
    while not all(task.ready() for task in tasks) or not queue.empty():
        if queue.empty():
            time.sleep(PATIENCE)
        else:
            yield queue.get()
    for task in tasks:
        task.get()


def _run_portion(campaign: Campaign, portion: Portion, queue: Queue[TimedTrialRow]) -> None:
    from parity.fault_injection import trial

    trials = trial.Trials()
    of_group = plan_trials(_only_group(campaign, portion.workload, portion.replicas))
    for injected in of_group[portion.first : portion.first + PORTION]:
        start = time.perf_counter()
        row = trials.run(injected)
        queue.put({**row, "seconds": round(time.perf_counter() - start, 2)})


def _run_speed_faults(campaign: Campaign, queue: Queue[TimedTrialRow]) -> None:
    from parity.fault_injection.speed_trial import run_speed_trial

    for cause, fault in speed_faults(campaign):
        queue.put(run_speed_trial(cause, fault))


def summarize_trials(rows: Sequence[TimedTrialRow], pairs: bool) -> dict[str, float]:
    """Returns the summary of all trials for the report.

    Args:
      rows: the trials.
      pairs: whether two faults were injected at once.

    Returns:
      {measurement: number}; "both_named" for pairs only.
    """
    count = len(rows) or 1
    summary = {
        "runs": len(rows),
        "faults": len({row["injected"] for row in rows}),
        "detected": sum(row["detected"] for row in rows) / count,
        "named_first": sum(row["right"] for row in rows) / count,
        "wrong_and_sure": sum(bool(row["wrong_and_sure"]) for row in rows),
        "first_wrong_and_sure": sum(row["confidence"] == "high" and not row["right"] for row in rows),
    }
    if pairs:
        summary["both_named"] = sum(bool(row["both_named"]) for row in rows) / count
    return summary
