"""Results: the first failure stays, and JSON has the keys that programs read."""

import json

from parity.comparison.difference import Difference
from parity.comparison.result import Failure, Verification
from parity.comparison.stage_summary import StageSummary

FAILURE = Failure(3, "weights", Difference("w", 2, 1, 0.5, 0.25, left=2.0, right=2.5), 0.125)


def test_the_first_failure_of_all_steps_is_kept():
    result = Verification("auto", "free")
    result.add_failures([])
    assert result.passed
    result.add_failures([FAILURE])
    result.add_failures([FAILURE._replace(step=4)])
    assert (result.passed, result.first) == (False, FAILURE)


def test_json_has_the_keys_that_programs_read():
    result = Verification("auto", "free")
    assert result.to_json()["first_failure"] is None
    result.add_failures([FAILURE])
    written = json.loads(json.dumps(result.to_json()))
    keys = "metrics verdict tolerance mode steps first_failure first_layer mismatched_variables replica_drift stages"
    more_keys = (
        "trajectory trajectories_part_at kinks races floor double single_only unproven noise not_shown visits partial "
        "half_precision"
    )
    assert sorted(written) == sorted((keys + " " + more_keys).split())
    assert written["verdict"] == "no parity"
    assert sorted(written["first_failure"]) == ["allowed", "difference", "fact", "precision", "stage", "step"]
    assert written["first_failure"]["difference"]["name"] == "w"


def test_identical_bits_are_those_of_every_element_of_a_step():
    result = Verification("auto", "free", stages={"weights": StageSummary(tensors=1, elements=2)})
    assert not result.has_identical_bits  # nothing was compared
    result.steps = 1
    assert result.has_identical_bits
    result.stages["slots"] = StageSummary(tensors=1, elements=2, differing_elements=1)
    assert result.passed and not result.has_identical_bits
