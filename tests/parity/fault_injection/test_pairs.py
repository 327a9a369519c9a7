from parity.causes import catalogue
from parity.causes.basics.injection import Change
from parity.fault_injection.pairs import PAIRS

FAULTS = {fault.name: fault for cause in catalogue.CAUSES for fault in cause.faults}


def test_no_pair_is_listed_twice():
    unordered = {frozenset(pair) for pair in PAIRS}
    assert len(unordered) == len(PAIRS)
    assert {len(pair) for pair in unordered} == {2}


def test_both_faults_of_a_pair_are_changes_of_the_port():
    assert [pair for pair in PAIRS if not all(isinstance(FAULTS[name].inject, Change) for name in pair)] == []


def test_the_faults_of_a_pair_have_different_causes():
    causes = {fault.name: cause.id for cause in catalogue.CAUSES for fault in cause.faults}
    assert [pair for pair in PAIRS if causes[pair[0]] == causes[pair[1]]] == []
