import json

import pytest

from parity.causes.basics.cause import HIGH, LOW, MEDIUM
from parity.fault_injection.injected_faults import InjectedFaults
from parity.fault_injection.trial_row import trial_row
from tests.cases import Dyadic
from tests.parity.fault_injection.made_up_faults import recognized_cause

SINGLE = InjectedFaults(("a",), ("A",), (("A", "ALSO"),), Dyadic(), "base", 2, lambda setup: None)
PAIR = InjectedFaults(("a", "b"), ("A", "B"), (("A", "ALSO"), ("B",)), Dyadic(), "base", 2, lambda setup: None)


def row_of(injected, *recognized):
    return trial_row(injected, True, "loss", [recognized_cause(*entry) for entry in recognized])


def test_a_cause_that_is_named_first():
    row = row_of(SINGLE, ("A", MEDIUM), ("C", LOW))
    assert row == {
        "injected": "a",
        "expected": ["A"],
        "workload": "base",
        "model": "dyadic",
        "replicas": 2,
        "detected": True,
        "stage": "loss",
        "named": "A",
        "confidence": "medium",
        "right": True,
        "all_named": ["A", "C"],
        "both_named": None,
        "wrong_and_sure": [],
        "sentence": "A it is.",
    }
    assert json.loads(json.dumps(row)) == row


def test_no_cause():
    row = trial_row(SINGLE, False, None, [])
    assert (row["detected"], row["stage"], row["right"], row["all_named"]) == (False, None, False, [])
    assert (row["named"], row["confidence"], row["sentence"]) == (None, None, None)


@pytest.mark.parametrize("first, right", [("A", True), ("ALSO", True), ("C", False)])
def test_a_name_is_right_if_it_is_allowed(first, right):
    assert row_of(SINGLE, (first, HIGH), ("A", HIGH))["right"] is right


@pytest.mark.parametrize("confidence, sure", [(HIGH, ["C"]), (MEDIUM, []), (LOW, [])])
def test_wrong_causes_count_if_their_confidence_is_high(confidence, sure):
    assert row_of(SINGLE, ("A", HIGH), ("C", confidence), ("ALSO", HIGH))["wrong_and_sure"] == sure


@pytest.mark.parametrize(
    "names, both", [(["A", "B"], True), (["B", "ALSO"], True), (["A", "ALSO"], False), (["C"], False), ([], False)]
)
def test_both_faults_of_a_pair_are_to_be_named(names, both):
    row = row_of(PAIR, *[(name, HIGH) for name in names])
    assert row["both_named"] is both
    assert (row["injected"], row["expected"]) == ("a + b", ["A", "B"])


def test_either_fault_of_a_pair_may_be_named_first():
    assert row_of(PAIR, ("B", HIGH))["right"]
    assert row_of(PAIR, ("B", HIGH), ("A", HIGH))["wrong_and_sure"] == []
