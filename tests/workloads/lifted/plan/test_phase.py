"""Phases of a plan, read from JSON."""

import pytest

from tests.small_lift import small_plan
from workloads.lifted.plan.phase import Effect, Phase, indices_label, is_indices_label, part_label, weight_of_label
from workloads.lifted.plan.records import ResultExchange


def test_a_key_that_no_record_has_is_refused():
    content = small_plan().to_json()
    with pytest.raises(TypeError, match="unexpected"):
        Phase.from_json(dict(content["phases"][0], unexpected=1))
    with pytest.raises(TypeError, match="unexpected"):
        Effect.from_json(dict(content["phases"][0]["effects"][0], unexpected=1))


def test_rows_of_a_sparse_gradient_have_a_label_of_their_own():
    assert indices_label("embedding") == "embedding (indices)"


def test_labels_of_parts_and_rows_are_of_their_weight():
    rows = indices_label("embedding (old)/w")
    assert is_indices_label(rows) and not is_indices_label(part_label(rows, 0))
    assert part_label("w", 1) == "w (part 2)"
    labels = [rows, part_label(rows, 0), part_label("embedding (old)/w", 3), "embedding (old)/w"]
    assert set(map(weight_of_label, labels)) == {"embedding (old)/w"}


def test_one_exchange_of_results_is_written_as_before_and_several_one_by_one():
    plan = small_plan()
    phase = plan.phases[0]
    assert phase.all_exchanges == []
    phase.early, phase.returns, phase.kept = [["g0:0", "g1:0"]], [["loss0:0"], []], [[], ["g1:0"]]
    assert phase.all_exchanges == [ResultExchange(phase.early, phase.returns, phase.kept)]
    assert "exchanges" not in plan.to_json()["phases"][0]
    second = ResultExchange([[None, "g1:0"]], [[], ["loss1:0"]], [[], []])
    phase.exchanges = [*phase.all_exchanges, second]
    assert Phase.from_json(plan.to_json()["phases"][0]).all_exchanges == phase.exchanges
