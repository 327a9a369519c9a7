import dataclasses

from parity.causes.basics import injection
from parity.fault_injection.injected_faults import InjectedFaults, fault_pair, single_fault
from tests.cases import Dyadic
from tests.parity.fault_injection.made_up_faults import cause_and_fault
from workloads.workload import Clip

SUM = injection.in_workload(lambda job: {"combine": "sum"})
TAPE = injection.in_options(autodiff="tape")


def double_batch(workload):
    return dataclasses.replace(workload, global_batch=2 * workload.global_batch)


def nowhere(workload):
    return None


def test_a_single_fault_in_its_workload():
    cause, fault = cause_and_fault("a", SUM, adapt=double_batch, start=3, also=("OTHER",))
    assert single_fault(cause, fault, "base", Dyadic(), 4) == InjectedFaults(
        names=("a",),
        expected=("A",),
        allowed=(("A", "OTHER"),),
        workload=Dyadic(global_batch=16),
        base="base",
        replicas=4,
        inject=SUM,
        side="modern",
        start=3,
    )


def test_a_fault_of_the_towers_keeps_its_side():
    cause, fault = cause_and_fault("a", SUM, side="legacy")
    assert single_fault(cause, fault, "base", Dyadic(), 2).side == "legacy"


def test_a_fault_that_cannot_occur_is_not_injected():
    assert single_fault(*cause_and_fault("a", SUM, adapt=nowhere), "base", Dyadic(), 2) is None
    four = {"occurs_at": lambda replicas: replicas == 4}
    assert single_fault(*cause_and_fault("a", SUM, **four), "base", Dyadic(), 2) is None
    assert single_fault(*cause_and_fault("a", SUM, **four), "base", Dyadic(), 4) is not None


def test_a_pair_of_faults_adapts_the_workload_twice_and_adds_up_its_changes():
    first = cause_and_fault("a", SUM, adapt=double_batch, also=("OTHER",))
    second = cause_and_fault("b", TAPE, adapt=injection.with_fields(clip=Clip(1.0)), start=2)
    pair = fault_pair(first, second, "base", Dyadic(), 2)
    assert (pair.names, pair.expected, pair.allowed) == (("a", "b"), ("A", "B"), (("A", "OTHER"), ("B",)))
    assert pair.workload == Dyadic(global_batch=16, clip=Clip(1.0))
    assert (pair.inject, pair.side, pair.start) == (SUM + TAPE, "modern", 2)


def test_a_pair_with_a_fault_that_cannot_occur_is_not_injected():
    healthy, impossible = cause_and_fault("a", SUM), cause_and_fault("b", TAPE, adapt=nowhere)
    assert fault_pair(healthy, impossible, "base", Dyadic(), 2) is None
    assert fault_pair(impossible, healthy, "base", Dyadic(), 2) is None
    assert fault_pair(healthy, healthy, "base", Dyadic(), 2) is not None


def test_a_pair_must_consist_of_changes_of_the_port():
    in_towers = cause_and_fault("b", lambda setup: None, side="legacy")
    assert fault_pair(cause_and_fault("a", SUM), in_towers, "base", Dyadic(), 2) is None
