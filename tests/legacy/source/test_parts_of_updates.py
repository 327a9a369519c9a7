"""Parts of updates, found in the plans of programs of their time."""

import pytest

from legacy.source.basics.expressions import Name
from legacy.source.basics.unwritten import Unwritten
from legacy.source.step.derivatives import raw_gradients, weight_gradients, with_derivatives
from legacy.source.step.known_statistics import find_known
from legacy.source.update.paths import find_path
from legacy.source.update.shared import find_shared_factor, with_results
from tests.legacy.source import test_trained_updates as programs
from tests.legacy.variants.programs import lifted
from workloads.lifted.plan import indices_label


def lift_of(build, tmp_path):
    return lifted(build, tmp_path).job.workload


def test_rows_that_reach_an_optimizers_slots_are_those_of_the_weight(tmp_path):
    lift = lift_of(programs.rows_of_adam, tmp_path)
    (phase,) = lift.plan.phases
    assert indices_label("net/emb") not in raw_gradients(lift.graph, phase, 0)
    found = weight_gradients(with_derivatives(lift.plan, lift.graph), lift.graph, phase, 0)
    assert set(found) == {"net/emb", indices_label("net/emb"), "net/w"}


def test_rows_before_they_were_clipped_and_made_dense_are_found(tmp_path):
    lift = lift_of(programs.rows_clipped_and_made_dense, tmp_path)
    found = raw_gradients(lift.graph, lift.plan.phases[0], 1)
    assert set(found) == {"net/emb", indices_label("net/emb"), "net/w"}
    assert not any("clip" in tensor for tensor in found.values())


def test_a_statistic_that_follows_from_another_one_is_left_to_the_update(tmp_path):
    lift = lift_of(programs.with_statistics(programs.average_of_a_statistic), tmp_path)
    known = find_known(lift.plan, lift.graph, lift.plan.phases[0], [])
    assert [proposal.variable for proposal in known.proposals[0]] == ["mean"] and known.proposals[1] == []


def test_the_factor_on_all_towers_losses_is_made_of_their_parts(tmp_path):
    lift = lift_of(programs.words_of_all_towers, tmp_path)
    (phase,) = lift.plan.phases
    factor = find_shared_factor(lift.plan, lift.graph, phase)
    assert factor.parts == ["part"] and set(factor.tensors.values()) == {Name("parts[0]"), Name("parts[1]")}
    assert factor.lines == ["    factor = 1.0 / tf.maximum(1.0, tf.add_n(parts))"]
    phase.returns[1].append(phase.returns[1][0])
    with pytest.raises(Unwritten, match="by more than a factor"):
        find_shared_factor(lift.plan, lift.graph, phase)
    phase.returns = []
    alone = find_shared_factor(lift.plan, lift.graph, phase)
    assert alone.lines == [] and alone.parts == ["part"]


def test_an_update_needs_results_of_towers_that_follow_from_no_gradient(tmp_path):
    lift = lift_of(programs.mean_of_the_inputs, tmp_path)
    (phase,) = lift.plan.phases
    tensors = find_path(lift.plan, lift.graph, phase).tensors
    ((one, other),) = with_results(lift.plan, lift.graph, phase, phase.effects, tensors).early
    assert one.startswith("tower_0/Mean") and other.startswith("tower_1/Mean")
    assert with_results(lift.plan, lift.graph, phase, phase.effects, [*tensors, one, other]).early == []
