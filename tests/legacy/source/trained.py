"""Training of a standalone source beside the port of the lift that it was written from, on the same batches."""

import dataclasses

import numpy as np
import tensorflow as tf

from legacy.source.source import OldProgram, SourceOptions, source_text, write_source
from modern.collectives.strategy import mirrored_strategy
from modern.options import ModernOptions
from parity.against.against_setup import old_graph_of
from parity.against.own_step import with_own_step
from parity.comparison import stages
from parity.comparison.runs.verification import verify
from tests.legacy.source import old_towers
from tests.parity.against.exact_setup import exact_setup_against
from workloads.frame import COMMON
from workloads.job import Job
from workloads.lifted.pieces.noise import noise_key
from workloads.lifted.sources import LiftedSynthetic
from workloads.steps.tracing import trace_step


def source_of(setup, style="standalone", settings=None):
    """The source of a setup's lift, with texts of the values of its scalar inputs."""
    lift = setup.job.workload
    return source_text(
        OldProgram(lift.plan, lift.graph, lift.graph, lift.values()), SourceOptions(settings or {}, style)
    )


def port_after(setup, batches):
    """{variable: array} of the lift's port after a step on each batch."""
    with setup.modern_program() as port:
        for _ in batches:
            port.step()
        state = port.state()
    return {**state.weights, **state.slots, **state.statistics, **state.averages}


def batches_of(setup, steps, settings=None):
    """[{input: [array of each replica]}] of some steps."""
    source = LiftedSynthetic(setup.job, settings or {})
    return [source.shards(step) for step in range(steps)]


def trainer_of(module, job, checkpoint=None):
    """The trainer of a standalone program, whose random numbers are those of the lift."""
    streams = {
        old_towers.stream_name(n.name, [o.name for o in job.workload.plan.noise]): n.name
        for n in job.workload.plan.noise
    }
    streams.update((n.name, n.name) for n in [*job.workload.plan.noise, *job.workload.plan.common_noise])  # of updates

    def key(scope, stream):
        return noise_key(job.seed, None if scope.replica == COMMON else scope.replica, streams[stream])

    module.Scope.key = key
    strategy = mirrored_strategy([f"CPU:{n}" for n in range(job.replicas)], ModernOptions(exact=True))
    return module.Trainer(strategy, checkpoint)


def train(module, trainer, job, batches):
    """{variable: array} of a standalone program after a step on each batch."""
    strategy = trainer.strategy
    names = {short: entry.name for short, entry in old_towers.input_names(job.workload.plan).inputs.items()}
    for number, shards in enumerate(batches):

        def value(context, shards=shards):
            shard = shards[context.replica_id_in_sync_group]
            cast = {n: np.int32 if shard[o].dtype.kind == "i" else shard[o].dtype for n, o in names.items()}
            return {n: tf.constant(shard[o].astype(cast[n])) for n, o in names.items()}

        batch = strategy.experimental_distribute_values_from_function(value)
        trainer.step(batch, number) if hasattr(module, "TRAIN_OPS") else trainer.step(batch)
    owners = getattr(module, "OWNERS", {})
    return {
        name: strategy.experimental_local_results(variable)[owners.get(name, 0)].numpy()
        for name, variable in trainer.variables.items()
    }


def assert_trains_alike(setup, tmp_path, text=None, steps=4, left_out=(), settings=None):
    """Asserts that the standalone source of a lift trains with the bits of its port, and that all variables move.

    The source has no variables `left_out`; `settings` are values of the port's scalar inputs, which the source has.
    """
    text = text or source_of(setup)
    path = tmp_path / "alone.py"
    write_source(str(path), text)
    module = old_towers.load(path, "alone")
    trainer = trainer_of(module, setup.job)
    start = {name: array for name, array in setup.job.workload.values().items() if name not in left_out}
    for name, variable in trainer.variables.items():
        variable.assign(tf.cast(start.get(name, 0), variable.dtype))
    batches = batches_of(setup, steps, settings)
    expected = {name: array for name, array in port_after(setup, batches).items() if name not in left_out}
    found = train(module, trainer, setup.job, batches)
    differing = [name for name, array in expected.items() if not np.array_equal(found[name], array)]
    differing += [name for name, array in start.items() if found[name].dtype != array.dtype]  # as its old Saver wants
    assert not differing, differing
    assert any(not np.array_equal(array, start[name]) for name, array in expected.items())


def assert_port_verified(setup, tmp_path, source, replicas=None, steps=4, changed=str, replicated=True, settings=None):
    """Asserts that a source of style "workload" with a step of its own has the bits of its old graph.

    `changed(text)` changes the source first; without `replicated` the old graph runs as it was saved; `settings` are
    values of its scalar inputs. Returns the comparison, which must pass unless the source is changed.
    """
    path = tmp_path / "port.py"
    path.write_text(changed(source.text))
    port, lift = old_towers.load(path, "port").PORT, setup.job.workload
    count = replicas or lift.plan.towers
    job = Job(port, count, count * setup.job.per_replica_batch)
    work = with_own_step(lift, port, trace_step(port, job.per_replica_batch, count), settings or {}, count)
    compared = dataclasses.replace(setup, job=dataclasses.replace(job, workload=work), replicated=replicated)
    return _verified(compared, steps, must_pass=changed is str)


def assert_workload_verified(setup, tmp_path, source, changed=str, steps=4, settings=None):
    """Asserts that a `Workload` has the bits of its old graph; see `assert_port_verified`."""
    path = tmp_path / "workload.py"
    path.write_text(changed(source.text))
    job = Job(old_towers.load(path, "workload").PORT, setup.job.replicas, setup.job.global_batch)
    compared = exact_setup_against(job, old_graph_of(setup.job.workload, job, settings))
    return _verified(compared, steps, must_pass=changed is str)


def _verified(compared, steps, must_pass):
    """The comparison of both sides of a setup, which passes with weights among what it compares if it must."""
    with compared.legacy_program() as left, compared.modern_program() as right:
        result = verify(left, right, compared.job, steps)
    if must_pass:
        assert result.passed, result.first
        assert result.stages[stages.WEIGHTS].tensors > 0
    return result
