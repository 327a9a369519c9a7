import numpy as np
import pytest
import tensorflow as tf

from legacy.towers import cluster
from tests.cases import Dyadic
from tests.refusals import refusal
from workloads import sources
from workloads.job import Job
from workloads.support.errors import InputError

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "job, message",
    [
        (Job(Dyadic(combine="sum"), 2), "--workload: got 'dyadic', accumulators give the mean"),
        (Job(Dyadic(), 2, staleness=1), "--staleness: got 1, not with --cluster"),
        (Job(Dyadic(statistics="mean_of_towers"), 2), "statistics of several processes are the first one's"),
    ],
)
def test_jobs_that_a_cluster_cannot_run_are_refused(job, message):
    with pytest.raises(InputError) as refused:
        cluster.check_cluster_job(job)
    assert message in str(refused.value)


def test_one_worker_may_have_statistics_of_all_its_towers():
    assert refusal(cluster.check_cluster_job, Job(Dyadic(statistics="mean_of_towers"), 1)) == ""
    assert refusal(cluster.check_cluster_job, Job(Dyadic(), 2)) == ""


def test_a_lone_worker_by_hand(monkeypatch):
    """In a session of this process, without servers."""
    monkeypatch.setattr(v1.train, "replica_device_setter", lambda **unused: "/device:CPU:0")
    job = Job(Dyadic(), 1, 8)
    task = cluster.WorkerTask({"worker": ["a:1"]}, 0, target="")
    worker = cluster.ClusterWorker(job, sources.Synthetic(job), task, sync=False)
    assert [float(loss) for loss in worker.run(1)] == [7.0]  # mean of 0 .. 7, times a = 1 and b = 2
    state = worker.state()
    worker._session.close()
    assert state.weights == {"a": np.float32(1 - 7 / 16), "b": np.float32(2 - 3.5 / 16)} and state.step == 1
    assert [spec.name for spec in worker.variables()] == ["a", "b"]
