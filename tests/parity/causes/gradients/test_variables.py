import pytest

from parity.causes.basics.cause import HIGH
from parity.causes.gradients import variables
from parity.comparison import stages
from parity.diagnosis.signatures.precision import NarrowValues
from parity.diagnosis.signatures.swaps import Swap
from tests.cases import Dyadic, Everything
from tests.parity.causes.stub_step import apply_rules, faulty_step, local_state, values_of
from tests.parity.step_records import compared_step, made_up_evidence, step_record


def evidence_with(**facts):
    evidence = made_up_evidence([compared_step(step_record(step)) for step in range(4)])
    evidence.facts.update({"find_swaps": [], "find_narrow_values": [], **facts})
    return evidence


def test_the_first_stage_with_swaps_is_named_with_its_variables():
    swaps = [Swap(stages.COMBINED, "a", "b", (0, 1)), Swap(stages.SLOTS, "b", "a", (0, 1, 2, 3))]
    finding = variables.swapped_variables(evidence_with(find_swaps=swaps))
    assert finding.sentence == (
        "The port's combined gradients are another variable's: a has those of b, until step 1 (2 of 4 steps)."
    )
    assert (finding.confidence, finding.variables) == (HIGH, ("a",))
    transposed = [Swap(stages.GRADIENTS, "a", "a", (0, 1, 2, 3))]
    assert "a is transposed." in variables.swapped_variables(evidence_with(find_swaps=transposed)).sentence


def test_a_narrow_format_is_named_with_its_place():
    narrow = [NarrowValues(stages.SLOTS, ("b",), "float16"), NarrowValues(stages.GRADIENTS, ("a",), "bfloat16")]
    finding = variables.half_precision(evidence_with(find_narrow_values=narrow))
    assert finding.sentence == "The port computes in bfloat16: its gradients are of that format (a)."
    before = [NarrowValues(stages.COMBINED, ("a",), "float16", before=True)]
    assert (
        "rounded before they are combined"
        in variables.half_precision(evidence_with(find_narrow_values=before)).sentence
    )


def test_neither_is_named_where_there_is_none():
    assert variables.swapped_variables(evidence_with()) is None
    assert variables.half_precision(evidence_with()) is None


def test_two_variables_of_one_shape_are_swapped():
    assert variables.same_shape(Dyadic()) is None
    assert variables.same_shape(Everything()) == ("norm/gamma", "norm/beta")
    assert variables.same_shape(Everything(), trainable=False) == ("norm/moving_mean", "norm/moving_variance")
    values = {"norm/gamma": 1, "norm/beta": 2, "first/weights": 3}
    assert variables.swap_two(Everything(), values) == {"norm/gamma": 2, "norm/beta": 1, "first/weights": 3}
    assert variables.swap_two(Dyadic(), {"a": 1}) == {"a": 1}


def test_slots_in_half_precision_lose_their_last_bits():
    local = local_state(0, {"w": [1.0]}, {"w/m": [2.0**-9], "beta1_power": 2.0**-9})
    apply_rules("slots_in_half_precision", local, {"w": [1.0]}, 0.5)
    assert values_of(local.slots) == {"w/m": [1.0], "beta1_power": 1 + 2.0**-9}


@pytest.mark.parametrize(
    "name", ["swapped_gradients", "swapped_statistics", "swapped_averages", "gradients_compressed"]
)
def test_faults_are_steps_of_a_replica(name):
    assert faulty_step(name, Everything()) is not None
