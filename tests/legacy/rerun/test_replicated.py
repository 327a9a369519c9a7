"""An old graph at another number of replicas: by hand, and as the old graph itself where batches repeat."""

from __future__ import annotations

import numpy as np
import pytest

from legacy.factory import legacy_program
from legacy.options import LegacyOptions
from legacy.rerun.program import OldGraphProgram
from legacy.rerun.replicated import ReplicatedOldGraph, require_replicable
from tests import old_programs
from tests.small_lift import CountingSource, small_job, small_lift, small_plan
from workloads.job import Job
from workloads.lifted.plan import Effect, Noise, Variable
from workloads.lifted.sources import LiftedSynthetic
from workloads.program import STATES, State
from workloads.selection import registry
from workloads.support.errors import InputError

EXACT = LegacyOptions(exact=True)


def devices(count):
    return [f"CPU:{number}" for number in range(count)]


def test_three_replicas_by_hand(tmp_path):
    job = small_job(str(tmp_path / "lift"), 3)
    with ReplicatedOldGraph(job, CountingSource(job), EXACT, devices(3)) as program:
        record = program.step()
        assert program.state().step == 1
    # Parts 1, 2 and 3, 4 and 5, 6: losses 2 * sum, gradients the sums; the mean 7 moves w from 2 by a quarter of it.
    assert [float(loss) for loss in record.losses] == [6, 14, 22]
    assert [tower["w"] for tower in record.gradients] == [3, 7, 11]
    assert record.combined == {"w": 7} and record.state.weights == {"w": 0.25}
    assert record.learning_rate.tolist() == [0.25] and len(record.digests) == 3


# Gradients 3, 7 and 11: their sum 21, two thirds of it, or their mean; a quarter of that is subtracted from 2.
@pytest.mark.parametrize("kind, loss_scale, after", [("sum", 1.0, -3.25), ("sum", 0.5, -1.5), ("mean", 1.0, 0.25)])
def test_a_sum_of_losses_that_count_one_over_the_towers_stays_a_mean(kind, loss_scale, after, tmp_path):
    def change(plan):
        plan.phases[0].combine[0].kind, plan.phases[0].loss_scale = kind, loss_scale

    job = Job(small_lift(str(tmp_path / "lift"), change), 3)
    with ReplicatedOldGraph(job, CountingSource(job), EXACT, devices(3)) as program:
        assert program.step().state.weights == {"w": after}


class Repeated(LiftedSynthetic):
    """The batches of as many replicas as there are towers, again and again for further replicas."""

    def shards(self, step):
        towers = self._job.workload.plan.towers
        few = LiftedSynthetic(Job(self._job.workload, towers), self._settings).shards(step)
        return [few[replica % towers] for replica in range(self._job.replicas)]


@pytest.mark.parametrize(
    "name",
    [
        "a_split_sgd",
        "c_queue_ema",
        "g_embedding_adagrad",
        "k_mean_of_losses",
        pytest.param("b_adam_clip", marks=pytest.mark.slow),
        pytest.param("h_dynamic_rnn", marks=pytest.mark.slow),
    ],
)
def test_repeated_batches_leave_the_old_graphs_update(name):
    workload = registry.get(old_programs.lifted(name))
    towers = workload.plan.towers
    one, two = Job(workload, towers), Job(workload, 2 * towers)
    with OldGraphProgram(one, LiftedSynthetic(one), EXACT, devices(towers)) as few:
        expected = [few.step() for _ in range(2)][-1]
    with ReplicatedOldGraph(two, Repeated(two), EXACT, devices(min(2 * towers, 8))) as many:
        found = [many.step() for _ in range(2)][-1]
    assert np.allclose(found.losses[:towers], expected.losses, rtol=1e-5)
    for kind in STATES:
        for variable, value in getattr(expected.state, kind).items():
            np.testing.assert_allclose(getattr(found.state, kind)[variable], value, rtol=2e-4, atol=1e-6)


def test_each_replica_keeps_the_state_of_its_tower(tmp_path):
    workload = registry.get(old_programs.lifted("m_carried_state"))
    job = Job(workload, 3)
    with ReplicatedOldGraph(job, LiftedSynthetic(job), EXACT, devices(3)) as program:
        start = program.state()
        first, second = program.step(), program.step()
        program.load(State(1, **{kind: getattr(first.state, kind) for kind in STATES}))
        again = program.step()
    assert np.any(second.state.statistics["state_0/c"] != start.statistics["state_0/c"])
    assert np.all(second.state.statistics["state_1/c"] == start.statistics["state_1/c"])
    # The first replica goes on from its own state; the others did, and after a load they start from the first one's.
    assert second.losses[0] == again.losses[0] and second.losses[2] != again.losses[2]


def test_what_cannot_be_replicated_is_refused_with_the_number_that_works():
    plan = small_plan()
    require_replicable(plan, 3)
    plan.noise.append(Noise("s", "LogUniformCandidateSampler", "seeded", ["s0", "s1"]))
    with pytest.raises(InputError, match="LogUniformCandidateSampler draws by its seed, .*: only --replicas=2"):
        require_replicable(plan, 3)
    plan.noise.pop()
    plan.variables.append(Variable("s", [], "float32", "state", tower=0))
    plan.phases[0].effects.append(Effect("add", "AssignAdd", ["s"], ["g0:0"]))
    with pytest.raises(InputError, match=r"--replicas: got 3, a tower's own state \(s\) is not .*: only --replicas=2"):
        require_replicable(plan, 3)
    plan.phases[0].combine[0].kind = "kept as written"
    with pytest.raises(InputError, match=r"not recognised \(w\): only --replicas=2"):
        require_replicable(plan, 3)


def test_only_a_reference_is_replicated(tmp_path):
    job = small_job(str(tmp_path / "lift"), 3)
    with pytest.raises(InputError, match="--replicas: got 3, the old graph has 2 towers"):
        legacy_program(job, CountingSource(job), EXACT, devices(3))
    with legacy_program(job, CountingSource(job), EXACT, devices(3), replicated=True) as program:
        assert isinstance(program, ReplicatedOldGraph)
        assert program.describe()["reduction"] == "as recognised, of replicas that run tower 0, 0, 0"
        assert set(program.given_tensors()) == {"mean:0", "g0:0", "g1:0"}  # the update may read a tower's own, too
        assert "g0:0" in program.tower_tensors() and "g1:0" not in program.tower_tensors()  # tower 1 is not run
