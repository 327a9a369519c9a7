import dataclasses

from parity.causes.basics.cause import HIGH, Cause, Fault, Finding, RecognizedCause
from tests.cases import Dyadic

CAUSE = Cause("AN_ID", "loss", "a title", "a signature", "a reason", "a remedy", lambda evidence: None)


@dataclasses.dataclass(frozen=True)
class Counting(Dyadic):
    replicas: int = 0

    def for_replicas(self, replicas):
        return dataclasses.replace(self, replicas=replicas)


def test_a_fault_is_injected_into_any_workload_unless_told():
    fault = Fault("a_fault", inject=lambda setup: None)
    workload = Dyadic()
    assert fault.adapted_workload(workload, 2) is workload
    assert (fault.side, fault.start, fault.also) == ("modern", 0, ())


def test_an_adapted_workload_is_told_the_number_of_replicas():
    fault = Fault("a_fault", lambda setup: None, adapt=lambda workload: Counting(global_batch=12))
    assert fault.adapted_workload(Dyadic(), 3) == Counting(global_batch=12, replicas=3)


def test_a_fault_that_cannot_occur_has_no_workload():
    never = Fault("a_fault", lambda setup: None, adapt=lambda workload: None)
    many = Fault("a_fault", lambda setup: None, occurs_at=lambda replicas: replicas > 2)
    assert never.adapted_workload(Dyadic(), 2) is None
    assert many.adapted_workload(Dyadic(), 2) is None
    assert many.adapted_workload(Dyadic(), 3) is not None


def test_the_json_report_keeps_its_keys():
    recognized = RecognizedCause(CAUSE, Finding("It differs.", HIGH, "a fit"))
    assert recognized.id == "AN_ID"
    assert recognized.to_json() == {
        "cause": "AN_ID",
        "stage": "loss",
        "sentence": "It differs.",
        "fix": "a remedy",
        "confidence": "high",
        "because": "a fit",
        "constants": {},
        "variables": [],
        "steps": [],
        "confirmed": None,
        "remaining": [],
        "bug": True,
        "page": "docs/causes.md#an_id",
    }


def test_the_json_report_has_the_constants_and_where_a_cause_acts():
    finding = Finding("It differs.", HIGH, "a fit", {"epsilon": 1e-7}, variables=("w",), steps=(3, 4))
    written = RecognizedCause(CAUSE, finding).to_json()
    assert (written["constants"], written["variables"], written["steps"]) == ({"epsilon": 1e-7}, ["w"], [3, 4])
