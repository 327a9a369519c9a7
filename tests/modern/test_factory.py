"""The modern program of a job: options that do not go together are refused."""

import pytest

from modern.factory import modern_program
from modern.mirrored.program import ModernProgram
from modern.options import ModernOptions
from tests.cases import Dyadic
from workloads.job import Job
from workloads.sources import Synthetic
from workloads.support.errors import InputError


@pytest.mark.parametrize(
    "staleness, options, message",
    [
        (None, {"autodiff": "new"}, "--autodiff: got 'new', only for a lifted workload"),
        (1, {"update_rules": "keras"}, "--update_rules: got 'keras', with --staleness: tf1"),
        (1, {"placement": "layers"}, "--staleness: got 1, not with --placement=layers"),
        (None, {"placement": "layers", "xla": True}, "--xla: got True, not with --placement=layers"),
        (None, {"placement": "layers", "update_rules": "keras"}, "--update_rules: got 'keras', with layers on devices"),
    ],
)
def test_what_does_not_go_together_is_refused(staleness, options, message):
    job = Job(Dyadic(), staleness=staleness)
    with pytest.raises(InputError, match=message):
        modern_program(job, Synthetic(job), ModernOptions(**options), ["CPU:0", "CPU:1"])


def test_replicas_on_devices_of_their_own_are_mirrored():
    job = Job(Dyadic())
    with modern_program(job, Synthetic(job), ModernOptions(), ["CPU:0", "CPU:1"]) as made:
        assert isinstance(made, ModernProgram)
