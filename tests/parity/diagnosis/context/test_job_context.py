import dataclasses
from types import SimpleNamespace

from parity.diagnosis.context import job_context
from tests.cases import Everything
from workloads import optimizers
from workloads.job import Job
from workloads.lifted.workload import LiftedWorkload
from workloads.workload import Clip, MovingAverage


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
    known = job_context.context_of_job(Job(Everything()))
    assert known.decayed == known.penalized == ("first/weights",)


def test_a_recording_and_its_job_give_one_context_but_for_the_decayed_weights():
    job = Job(Everything(clip=Clip(0.5, "tower"), moving_average=MovingAverage(0.5)), 2)
    about = {"left": {"device": "cpu"}}
    of_job = job_context.context_of_job(job, about)
    assert of_job.about == about
    assert job_context.context_of_recording(job.describe(), about) == dataclasses.replace(
        of_job, decayed=None, penalized=None
    )


def test_a_recording_without_settings_tells_nothing():
    known = job_context.context_of_recording({})
    assert known == job_context.Context()
    assert known.per_replica_batch == 0


def test_a_lifted_graphs_choices_are_in_its_ops_and_not_known():
    lifted = LiftedWorkload.__new__(LiftedWorkload)  # a saved graph is not needed to say that it has no fields
    known = job_context.context_of_job(SimpleNamespace(workload=lifted, replicas=2, global_batch=8))
    assert known == job_context.Context(2, 8)
