"""The job that the flags describe, and combinations of flags that are refused."""

import numpy as np
import pytest
from absl import flags

from tests import old_programs
from tests.own_flags import set_flags
from workloads import sources
from workloads.data import own_data
from workloads.selection import flags as job_flags
from workloads.support.errors import InputError


@pytest.fixture(autouse=True)
def parsed():
    """Parses an empty command line, and forgets it afterwards."""
    flags.FLAGS.mark_as_parsed()
    yield
    flags.FLAGS.unparse_flags()


def made(**values):
    """(`Job`, make_source) of some flags."""
    with set_flags(flags.FLAGS, **values):
        return job_flags.job_from_flags()


def test_the_job_has_the_flags_values():
    job, make_source = made(workload="stacked_lstm", replicas=3, global_batch=6, dtype="float64", seed=5, staleness=1)
    assert (job.workload.name, job.replicas, job.global_batch) == ("stacked_lstm", 3, 6)
    assert (job.dtype, job.seed, job.data, job.staleness) == ("float64", 5, "synthetic", 1)
    assert type(make_source(job)) is sources.Synthetic


def test_two_replicas_and_resident_batches():
    job, make_source = made(resident=True)
    assert (job.replicas, job.data) == (2, "resident")
    assert type(make_source(job)) is sources.Resident


def test_replicas_are_those_of_one_worker():
    with set_flags(flags.FLAGS, replicas=2):
        assert job_flags.job_from_flags(workers=3)[0].replicas == 6


def test_layers_on_devices_have_micro_batches_in_the_place_of_replicas():
    with set_flags(flags.FLAGS, workload="stacked_lstm", placement="layers", micro_batches=4, layer_devices=3):
        job, _ = job_flags.job_from_flags()
        assert (job.replicas, job_flags.devices_needed(job)) == (4, 3)


def test_a_lift_has_its_towers_unless_the_user_says_otherwise():
    folder = old_programs.lifted("a_split_sgd")
    assert made(workload=folder)[0].replicas == 2
    assert made(workload=folder, replicas=1)[0].replicas == 1


def test_own_data_and_their_order_are_part_of_the_job(tmp_path):
    np.savez(tmp_path / "data.npz", text=np.zeros((64, 4), np.int32))
    path = str(tmp_path / "data.npz")
    job, make_source = made(data=path)
    assert job.data.startswith("npz:") and job.data.endswith(", shuffled, last batch filled")
    assert make_source.func is own_data.OwnData
    in_order, _ = made(data=path, shuffle=False)
    assert in_order.data == job.data.replace("shuffled", "in order")
    lift, _ = made(data=path, workload=old_programs.lifted("m_carried_state"))  # which needs the texts in their order
    assert lift.data == in_order.data


@pytest.mark.parametrize(
    "values, message",
    [
        ({"resident": True, "data_dir": "."}, "--resident: got True, not with --data_dir"),
        ({"data": "x.npz"}, "--data: cannot read x.npz: No such file"),
        ({"data": "."}, "--data: got '.', a folder of TFRecord files needs --parser"),
        ({"parser": "os:stat"}, "--parser: got 'os:stat', needs TFRecord files in --data"),
        ({"data": "x.npz", "resident": True}, "--resident: got True, not with --data"),
        ({"data": "x.npz", "data_dir": "."}, "--data_dir: got '.', not with --data"),
        ({"placement": "layers", "replicas": 2}, "--replicas: got 2, with --placement=layers: --micro_batches"),
        ({"placement": "layers", "micro_batches": 0}, "--micro_batches: got 0, must be at least 1"),
        ({"workload": "LIFT", "staleness": 1}, "--staleness: got 1, not for a lifted workload"),
        ({"workload": "LIFT", "data_dir": "."}, "--data_dir: got '.', not for a lifted workload; give --data"),
        ({"workload": "LIFT", "settings": ["lr=1"]}, "--settings: got 'lr', allowed: "),
        ({"workload": "LIFT", "settings": ["lr"]}, "--settings: got 'lr', expected name=value"),
    ],
)
def test_flags_that_do_not_go_together_are_refused(values, message):
    if values.get("workload") == "LIFT":
        values = dict(values, workload=old_programs.lifted("a_split_sgd"))
    with pytest.raises(InputError, match=message):
        made(**values)
