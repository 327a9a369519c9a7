import dataclasses

import pytest

from tests.cases import Dyadic
from workloads import schedules
from workloads.job import Job
from workloads.support.errors import InputError
from workloads.workload import Clip


def test_default_batch_is_rounded_up_to_what_the_replicas_divide():
    assert Job(Dyadic(global_batch=8), replicas=3).global_batch == 9
    assert Job(Dyadic(global_batch=8), replicas=3).per_replica_batch == 3


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"replicas": 0}, "--replicas: got 0, must be at least 1"),
        ({"replicas": -2}, "--replicas: got -2, must be at least 1"),
        ({"replicas": 2, "global_batch": 7}, "--global_batch: got 7, must be a multiple of --replicas=2"),
        ({"global_batch": 0}, "--global_batch: got 0, must be at least 1"),
        ({"dtype": "float16"}, "--dtype: got 'float16', allowed: float32, float64"),
    ],
)
def test_bad_sizes_are_named(fields, message):
    with pytest.raises(InputError) as error:
        Job(Dyadic(), **fields)
    assert str(error.value) == message


@pytest.mark.parametrize(
    "fields, named",
    [
        ({"combine": "average"}, "combine"),
        ({"statistics": "last"}, "statistics"),
        ({"learning_rate": 0.1}, "learning_rate"),
        ({"optimizer": "sgd"}, "optimizer"),
        ({"clip": Clip(-1.0)}, "clip.limit"),
        ({"clip": Clip(1.0, where="everywhere")}, "clip.where"),
        ({"clip": Clip(1.0, how="norms")}, "clip.how"),
    ],
)
def test_bad_fields_of_a_workload_are_named(fields, named):
    with pytest.raises(InputError, match=named):
        Job(Dyadic(**fields))


def test_digest_changes_with_every_field_and_only_then():
    job = Job(Dyadic())
    assert job.digest() == Job(Dyadic()).digest()
    others = [
        dataclasses.replace(job, seed=1),
        dataclasses.replace(job, dtype="float64"),
        Job(Dyadic(learning_rate=schedules.Fixed(0.5))),
    ]
    assert len({job.digest()} | {other.digest() for other in others}) == 4
