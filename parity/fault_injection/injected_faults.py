"""`InjectedFaults`: one fault or a pair of faults, chosen for a workload and a number of replicas."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

from parity.causes.basics.cause import Cause, Fault
from parity.causes.basics.injection import Change

if TYPE_CHECKING:
    from workloads.program import Program
    from workloads.workload import Workload

#: A fault and the cause that it injects.
CauseAndFault = tuple[Cause, Fault]


@dataclasses.dataclass(frozen=True)
class InjectedFaults:
    """One or two faults in one workload at one number of replicas.

    Attributes:
      names: the faults' names.
      expected: ids of the causes that must be named, one for each fault.
      allowed: for each fault, all ids that are correct names for it.
      workload: the workload that the faults are injected into.
      base: name of the workload that it was adapted from.
      replicas: number of replicas.
      inject: function from a `Setup` (and a first state, or None) to the faulty side's `Program`.
      side: the faulty side, as in `Fault`.
      start: number of steps that legacy trains first, as in `Fault`.
    """

    names: tuple[str, ...]
    expected: tuple[str, ...]
    allowed: tuple[tuple[str, ...], ...]
    workload: Workload
    base: str
    replicas: int
    inject: Callable[..., Program]
    side: str = "modern"
    start: int = 0


def single_fault(cause: Cause, fault: Fault, base: str, workload: Workload, replicas: int) -> InjectedFaults | None:
    """Chooses one fault for a workload.

    Args:
      cause: the fault's cause.
      fault: the fault.
      base: name of the workload.
      workload: the workload to adapt.
      replicas: number of replicas.

    Returns:
      the fault in the adapted workload; None if it cannot occur there.
    """
    adapted = fault.adapted_workload(workload, replicas)
    if adapted is None:
        return None
    return InjectedFaults(
        names=(fault.name,),
        expected=(cause.id,),
        allowed=(_allowed_ids(cause, fault),),
        workload=adapted,
        base=base,
        replicas=replicas,
        inject=fault.inject,
        side=fault.side,
        start=fault.start,
    )


def fault_pair(
    first: CauseAndFault, second: CauseAndFault, base: str, workload: Workload, replicas: int
) -> InjectedFaults | None:
    """Chooses two faults for a workload at once.

    Args:
      first: the fault for which the workload is adapted first.
      second: the other fault.
      base: name of the workload.
      workload: the workload to adapt.
      replicas: number of replicas.

    Returns:
      both faults in the adapted workload; None if one cannot occur there, or if they are not both changes of the port.
    """
    faults = [fault for _, fault in (first, second)]
    adapted: Workload | None = workload
    for fault in faults:
        adapted = fault.adapted_workload(adapted, replicas) if adapted is not None else None
    changes = [fault.inject for fault in faults if isinstance(fault.inject, Change)]
    if adapted is None or len(changes) < 2:
        return None
    return InjectedFaults(
        names=tuple(fault.name for fault in faults),
        expected=(first[0].id, second[0].id),
        allowed=(_allowed_ids(*first), _allowed_ids(*second)),
        workload=adapted,
        base=base,
        replicas=replicas,
        inject=changes[0] + changes[1],
        start=max(fault.start for fault in faults),
    )


def _allowed_ids(cause: Cause, fault: Fault) -> tuple[str, ...]:
    return (cause.id, *fault.also)
