import dataclasses
from unittest import mock

from modern.mirrored.step.replica_step import ReplicaStep
from parity.causes.basics.cause import HIGH
from parity.causes.combining.clip_place import clip_before_reduce, tower_clip
from parity.diagnosis.candidates.combined_forms import CombinedForm
from tests.cases import Dyadic
from tests.parity.causes.facts import FOUR_REPLICAS, combined_fit
from tests.parity.causes.stub_step import FAULTS, faulty_step
from tests.parity.step_records import made_up_evidence
from workloads.models import sigmoid_stack
from workloads.workload import Clip


def test_each_place_is_a_cause_and_its_opposite_is_not():
    after, before = (CombinedForm("mean", where, limit=2.0) for where in ("combined", "tower"))
    later = made_up_evidence((), FOUR_REPLICAS, combined_fits=(combined_fit(before), combined_fit(after)))
    earlier = made_up_evidence((), FOUR_REPLICAS, combined_fits=(combined_fit(after), combined_fit(before)))
    assert clip_before_reduce(earlier).confidence == tower_clip(later).confidence == HIGH
    assert clip_before_reduce(later) is None and tower_clip(earlier) is None


def test_places_of_clipping_are_not_distinguished_where_gradients_are_parallel():
    adapt = FAULTS["clipped_on_each_replica"].adapt
    assert adapt(sigmoid_stack.SMALL) is None
    assert adapt(Dyadic()).clip == Clip(0.5, "combined")


def test_shares_are_clipped_on_each_replica_and_summed():
    seen = {}

    def healthy(self, context, gradients):
        seen["combine"], seen["clip"] = self._job.workload.combine, self._job.workload.clip
        return gradients

    workload = dataclasses.replace(Dyadic(), clip=Clip(2.0, "combined"))
    step = faulty_step("shares_clipped_then_summed", workload)
    with mock.patch.object(ReplicaStep, "_combine", healthy):
        assert step._combine(None, {"w": 8.0}) == {"w": 2.0}
    assert seen == {"combine": "sum", "clip": Clip(2.0, "tower")}
    assert step._job.workload == workload
