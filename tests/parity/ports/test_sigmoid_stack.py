"""The port that `model.fit` trains, for two steps."""

import numpy as np

from modern.collectives import strategy
from modern.options import ModernOptions
from parity.causes.catalogue import CAUSES
from parity.comparison.setup import exact_setup
from parity.ports import sigmoid_stack
from parity.ports.legacy_batches import LegacyBatches
from workloads.job import Job
from workloads.records.reader import Recording
from workloads.sources import Synthetic


def test_it_starts_from_legacys_weights_on_legacys_batches(tmp_path):
    job = Job(sigmoid_stack.WORKLOAD, 2)
    setup = exact_setup(job)
    with setup.legacy_program() as program:
        initial, legacy = program.state(), program.step()
    mirrored = strategy.mirrored_strategy(setup.devices(), ModernOptions(all_reduce="auto"))
    path = str(tmp_path / "port.npz")
    sigmoid_stack.train(path, mirrored, LegacyBatches(job, Synthetic(job)), initial, 2)
    with Recording(path) as recording:
        start, record = recording.state(), recording.step()
        assert recording.steps == 2
    assert all(np.array_equal(start.weights[name], initial.weights[name]) for name in initial.weights)
    assert np.allclose(2 * np.array(record.losses), legacy.losses, rtol=1e-5)  # Keras divides by the replicas
    assert record.digests == legacy.digests


def test_the_expected_causes_are_in_the_catalogue():
    assert set(sigmoid_stack.EXPECTED) <= {cause.id for cause in CAUSES}
