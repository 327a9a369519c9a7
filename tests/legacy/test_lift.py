"""The recorded old programs, lifted: the old graph as it is against the port, and what spoils it."""

import dataclasses
import functools
import os
import shutil

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.lifting import lift_graph
from parity.comparison.runs.options import Criterion
from parity.comparison.runs.verification import verify
from tests import old_programs
from tests.marks import slow_after
from workloads.data.opening import open_data
from workloads.lifted import sources
from workloads.lifted.folder import write_lift
from workloads.selection import registry
from workloads.support.errors import InputError

v1 = tf.compat.v1


def verified(setup, steps=20, mode="free", rule="exact"):
    with setup.legacy_program() as left, setup.modern_program() as right:
        return verify(left, right, setup.job, steps, Criterion(mode, rule))


@pytest.mark.parametrize("name", old_programs.NAMES)
def test_port_has_the_old_graphs_bits(name):
    result = verified(old_programs.setup(name))
    assert result.passed, result.first
    assert result.stages["loss"].tensors and result.stages["gradients"].tensors
    assert all(stage.differing_elements == 0 for stage in result.stages.values())


@pytest.mark.parametrize("name", old_programs.NAMES)
def test_all_reduce_means_what_the_graphs_combining_means(name):
    result = verified(old_programs.setup(name, all_reduce="auto"), 5, "locked", "auto")
    assert result.passed, result.first


SCALABLE = [name for name in old_programs.NAMES if name != "i_odd_combine"]
#: Three replicas of each program, and one of those with statistics, clipping, several phases and a state of towers.
OTHER_NUMBERS = [(name, 3) for name in SCALABLE]
OTHER_NUMBERS += [(name, 1) for name in ("d_batch_norm", "b_adam_clip", "l_gan", "m_carried_state")]
OTHER_NUMBERS += [(name, 1) for name in SCALABLE if (name, 1) not in OTHER_NUMBERS]


@pytest.mark.parametrize("name, replicas", slow_after(len(SCALABLE) + 4, OTHER_NUMBERS))
def test_runs_at_other_numbers_of_replicas(name, replicas):
    setup = old_programs.setup(name, replicas)
    with setup.modern_program() as program:
        record = program.step()
        program.run(3)
        assert len(record.losses) == replicas and np.isfinite(record.losses).all()
        assert not record.drift


def same_on_all(base):
    """A source that hands every replica the first one's batch: then any number of replicas takes the same step."""

    class Same(base):
        def shards(self, step):
            return [super(Same, self).shards(step)[0]] * self._job.replicas

    return Same


@pytest.mark.parametrize("name", ["a_split_sgd", "e_slim_dropout", "g_embedding_adagrad", "k_mean_of_losses"])
def test_a_mean_stays_a_mean_at_other_numbers_of_replicas(name):
    states = []
    for replicas in (1, 4):
        setup = old_programs.setup(name, replicas, make_source=same_on_all(sources.LiftedSynthetic))
        plan = setup.job.workload.plan
        plan.noise, plan.differences = [], []  # equal towers, so that only the combining is left
        with setup.modern_program() as program:
            program.step()
            states.append(program.state())
    for name, one in states[0].weights.items():
        np.testing.assert_allclose(one, states[1].weights[name], rtol=2e-6, atol=1e-7)


def test_refuses_other_numbers_of_replicas_for_combining_it_does_not_know():
    with pytest.raises(InputError, match="--replicas: got 2, .* only works for its own 3 towers"):
        old_programs.setup("i_odd_combine", 2).modern_program()
    with pytest.raises(InputError, match="the old graph has 2 towers"):
        old_programs.setup("a_split_sgd", 4).legacy_program()


def spoiled(name, tmp_path, spoil):
    """The folder of a lift whose port, and only the port, gets another graph or plan."""
    folder = str(tmp_path / "spoiled")
    shutil.copytree(old_programs.lifted(name), folder)
    workload = registry.get(folder)
    spoil(workload)
    values = workload.values()
    write_lift(folder, workload.plan, workload.graph.graph_def, values)
    return folder


def verified_spoiled(name, tmp_path, spoil, steps=3):
    good, bad = old_programs.setup(name), old_programs.setup(name, folder=spoiled(name, tmp_path, spoil))
    with good.legacy_program() as left, bad.modern_program() as right:
        return verify(left, right, good.job, steps)


def test_a_changed_constant_is_seen(tmp_path):
    def spoil(workload):
        node = workload.graph.nodes["GradientDescent/learning_rate"]
        node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(np.float32(0.11)))

    result = verified_spoiled("a_split_sgd", tmp_path, spoil)
    assert result.first.stage == "learning rate"


def test_another_towers_batch_is_seen():
    class Swapped(sources.LiftedSynthetic):
        def shards(self, step):
            return super().shards(step)[::-1]

    good, bad = old_programs.setup("a_split_sgd"), old_programs.setup("a_split_sgd", make_source=Swapped)
    with good.legacy_program() as left, bad.modern_program() as right:
        assert verify(left, right, good.job, 1).first.stage == "batch"


def test_an_average_of_the_old_weight_is_seen(tmp_path):
    def spoil(workload):
        workload.plan.phases[0].versions = []

    result = verified_spoiled("c_queue_ema", tmp_path, spoil)
    assert result.first.stage == "moving averages"


def test_a_forgotten_update_is_seen(tmp_path):
    def spoil(workload):
        phase = workload.plan.phases[0]
        phase.effects = [effect for effect in phase.effects if effect.writes[0] != "beta1_power"]

    result = verified_spoiled("b_adam_clip", tmp_path, spoil)
    assert result.first.stage == "slots" and "beta1_power" in result.first.difference.name


def test_other_noise_is_seen():
    setup = old_programs.setup("e_slim_dropout")
    other = dataclasses.replace(setup, job=dataclasses.replace(setup.job, seed=1))

    class Seed0(sources.LiftedSynthetic):
        def __init__(self, job):
            super().__init__(setup.job)

    with setup.legacy_program() as left, dataclasses.replace(other, make_source=Seed0).modern_program() as right:
        assert verify(left, right, setup.job, 1).first.stage == "loss"


def test_goes_on_from_real_batches_with_its_slots(tmp_path):
    """Twenty steps in one go, or eight, saved, and twelve more: the same bits."""
    rng = np.random.RandomState(0)
    np.savez(tmp_path / "data.npz", text=rng.randint(0, 11, (64, 4)))
    data = open_data(str(tmp_path / "data.npz"))
    make_source = functools.partial(sources.LiftedOwnData, data=data, shuffle=False)
    with old_programs.setup("m_carried_state", make_source=make_source).modern_program() as program:
        program.run(20)
        whole = program.state()
    setup = old_programs.setup("m_carried_state", make_source=make_source)
    with setup.modern_program() as program:
        program.run(8)
        setup.job.workload.save(str(tmp_path / "saved"), program.state())
    setup = old_programs.setup("m_carried_state", make_source=make_source, folder=str(tmp_path / "saved"))
    with setup.modern_program() as program:
        program.run(12)
        again = program.state()
    for kind in ("weights", "slots", "statistics"):
        for name, value in getattr(whole, kind).items():
            assert value.tobytes() == getattr(again, kind)[name].tobytes(), name


def test_starts_without_a_checkpoint_from_the_graphs_initializers(tmp_path):
    plan = lift_graph(old_programs.path("c_queue_ema", "graph.meta"), str(tmp_path / "out"))
    state = registry.get(str(tmp_path / "out")).initial_state()
    assert state.statistics["global_step"] == 0 and len(plan.variables) == 7
    for name, weight in state.weights.items():
        assert (state.averages[name + "/ExponentialMovingAverage"] == weight).all()
        assert np.abs(weight).max() > 0


def test_tells_a_wrong_checkpoint_variable_by_variable(tmp_path):
    with pytest.raises(InputError, match=r"net/w1: not in it.*it has besides: .*beta1_power"):
        lift_graph(
            old_programs.path("a_split_sgd", "graph.meta"),
            str(tmp_path / "out"),
            old_programs.path("b_adam_clip", "model.ckpt"),
        )
    assert not os.path.exists(tmp_path / "out")


def test_a_damaged_lift_is_refused(tmp_path):
    folder = tmp_path / "damaged"
    shutil.copytree(old_programs.lifted("a_split_sgd"), folder)
    content = (folder / "graph.pb").read_bytes()
    (folder / "graph.pb").write_bytes(content[:-10] + bytes(10))
    with pytest.raises(InputError, match="is not the graph"):
        registry.get(str(folder))
