from parity.diagnosis import job_context
from tests.cases import Everything
from workloads import optimizers
from workloads.job import Job
from workloads.workload import Clip


def test_a_recordings_texts_say_what_the_job_does():
    job = Job(Everything(clip=Clip(0.5, "tower"), optimizer=optimizers.Adam(0.5, 0.9)), 4, 16)
    known = job_context.context_of_recording(job.describe())
    assert known.optimizer == job.workload.optimizer
    assert known.clip == job.workload.clip
    assert (known.replicas, known.global_batch, known.per_replica_batch) == (4, 16, 4)
    assert known.weight_decay == job.workload.weight_decay


def test_what_is_not_one_of_ours_is_not_evaluated():
    texts = {"workload.optimizer": "__import__('os').getcwd()", "workload.clip": "Clip(limit=open('x'))"}
    known = job_context.context_of_recording(texts)
    assert known.optimizer is None
    assert known.clip is None


def test_the_decayed_weights_are_known_of_a_job():
    assert job_context.context_of_job(Job(Everything())).decayed == ("first/weights",)
