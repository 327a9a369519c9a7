"""Taps from end to end: a fault in one layer is localised to it, and bits do not depend on whether taps are on."""

import numpy as np
import pytest

from parity.comparison import stages
from tests.parity.layer_faults import CASES, compared, tapped_setup

#: Cases that `make test` runs, one of each way in which a layer shows.
FEW = ("no_forget_bias", "half_gradient", "frozen_weight", "no_gradient_behind")


def case_id(case):
    return f"{case.layer}-{case.kind}-{case.fault.__name__}"


def marked(cases):
    seen = set()
    for case in cases:
        is_few = case.workload == "stacked_lstm" and case.fault.__name__ in FEW and case.fault not in seen
        seen.add(case.fault)
        yield pytest.param(case, id=case_id(case), marks=[] if is_few else [pytest.mark.slow])


@pytest.mark.parametrize("case", list(marked(CASES)))
def test_a_fault_in_one_layer_is_localised_to_it(case):
    result = compared(tapped_setup(case.workload, case))
    assert not result.passed and result.first_layer is not None
    found = result.first_layer
    assert case.layer in (found.layer, *found.readers) and len(found.readers) <= 1, found.sentence()


@pytest.mark.parametrize("name", ["stacked_lstm", pytest.param("resnet18", marks=pytest.mark.slow)])
def test_bits_are_the_same_with_taps_and_without(name):
    for side in ("legacy_program", "modern_program"):
        records = []
        for taps in ((), ("*",)):
            with getattr(tapped_setup(name, taps=taps), side)() as program:
                records.append([program.step() for _ in range(2)])
        for plain, tapped in zip(*records):
            assert not plain.taps and len(tapped.taps) == 2 and list(tapped.taps[0]) == list(tapped.tap_gradients[0])
            pairs = list(zip(stages.tensors(plain), stages.tensors(tapped)))
            assert pairs and all(np.array_equal(a, b) for (_, _, a), (_, _, b) in pairs)


def test_equal_programs_have_equal_taps():
    result = compared(tapped_setup("stacked_lstm"), steps=2)
    assert result.passed and result.first_layer is None
    assert result.stages[stages.ACTIVATIONS].elements > 0 and result.stages[stages.ACTIVATION_GRADIENTS].elements > 0


def test_only_what_is_asked_for_is_recorded():
    with tapped_setup("stacked_lstm", taps=("lstm1", "*dense.output")).legacy_program() as program:
        assert list(program.step().taps[0]) == [
            "lstm1/lstm.input",
            "lstm1/lstm.output",
            "lstm1/dropout.input",
            "lstm1/dropout.output",
            "logits/dense.output",
        ]
