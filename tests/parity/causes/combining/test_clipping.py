import dataclasses

import pytest
import tensorflow as tf

from modern.options import ModernOptions
from parity.causes.basics.cause import HIGH, MEDIUM
from parity.causes.combining import clip_place, clipping
from parity.causes.combining.form_difference import clip_with_epsilon
from parity.diagnosis.candidates.combined_forms import CombinedForm
from tests.cases import Dyadic
from tests.parity.causes.facts import FOUR_REPLICAS, combined_fit
from tests.parity.causes.stub_step import change_of, combine
from tests.parity.step_records import made_up_evidence
from workloads.job import Job
from workloads.workload import Clip

CRITERIA = {cause.id: cause.criterion for cause in clip_place.CAUSES + clipping.CAUSES}
MEAN, SUM = CombinedForm("mean"), CombinedForm("sum")
COMBINED, TOWER = CombinedForm("mean", "combined", limit=2.0), CombinedForm("mean", "tower", limit=2.0)


def recognized(left, right):
    evidence = made_up_evidence((), FOUR_REPLICAS, combined_fits=(left, right))
    findings = {name: criterion(evidence) for name, criterion in CRITERIA.items()}
    return {name: finding for name, finding in findings.items() if finding is not None}


def of_forms(left, *right, **known):
    return recognized(combined_fit(left), combined_fit(*right, **known))


@pytest.mark.parametrize("form", [MEAN, SUM, COMBINED, TOWER])
def test_the_same_form_is_no_cause(form):
    assert of_forms(form, form) == {}


def test_a_form_that_also_explains_the_port_is_no_cause():
    assert of_forms(COMBINED, TOWER, COMBINED) == {}


def test_sides_without_a_form_are_no_cause():
    assert recognized(None, combined_fit(MEAN)) == {}
    assert recognized(combined_fit(MEAN), None) == {}
    assert recognized(combined_fit(), combined_fit(MEAN)) == {}
    assert recognized(combined_fit(MEAN), combined_fit()) == {}


def test_mean_and_sum_without_clipping_are_no_cause_of_clipping():
    assert of_forms(MEAN, SUM) == {}


def test_clipping_on_each_replica_is_named():
    found = of_forms(COMBINED, CombinedForm("mean", "tower", limit=3.0))
    assert list(found) == ["CLIP_BEFORE_REDUCE"]
    assert found["CLIP_BEFORE_REDUCE"].confidence == HIGH
    assert found["CLIP_BEFORE_REDUCE"].sentence.endswith(
        "It applies the mean of each replica's gradients clipped to 3 (global norm)."
    )


def test_clipped_shares_have_n_times_the_limit():
    found = of_forms(COMBINED, CombinedForm("mean", "tower", limit=8.0))
    assert "sum of clip(g_i / N, 2): up to 4 x the limit gets through" in found["CLIP_BEFORE_REDUCE"].sentence


def test_clipped_shares_of_parallel_gradients_look_like_a_larger_limit():
    larger, shares = CombinedForm("mean", "combined", limit=8.0), CombinedForm("mean", "tower", limit=8.0)
    assert list(of_forms(COMBINED, larger)) == ["CLIP_LIMIT"]
    found = of_forms(COMBINED, larger, shares)
    assert list(found) == ["CLIP_BEFORE_REDUCE"]
    assert found["CLIP_BEFORE_REDUCE"].confidence == MEDIUM


def test_clipping_in_legacy_s_towers_is_named():
    found = of_forms(TOWER, COMBINED)
    assert list(found) == ["TOWER_CLIP"]
    assert found["TOWER_CLIP"].sentence.startswith("Legacy clips each tower's gradients to 2 ")


def test_another_norm_is_named():
    found = of_forms(COMBINED, CombinedForm("mean", "combined", "norm", 2.0))
    assert list(found) == ["CLIP_KIND"]
    assert found["CLIP_KIND"].sentence == "Legacy clips by global norm, the port by norm."


def test_another_limit_is_named_from_one_in_ten_thousand():
    found = of_forms(COMBINED, CombinedForm("mean", "combined", limit=2.0004))
    assert list(found) == ["CLIP_LIMIT"]
    assert found["CLIP_LIMIT"].sentence == "Legacy clips at 2, the port at 2.0004."
    assert of_forms(COMBINED, CombinedForm("mean", "combined", limit=2.0001)) == {}


def test_clipping_on_one_side_only_is_named():
    assert of_forms(COMBINED, MEAN)["CLIP_MISSING"].sentence == "Legacy clips its gradients to 2 and the port does not."
    assert of_forms(MEAN, TOWER)["CLIP_MISSING"].sentence == "The port clips its gradients to 2 and legacy does not."
    assert list(of_forms(COMBINED, MEAN)) == ["CLIP_MISSING"]


def test_gradients_that_were_worked_out_roughly_lower_the_confidence():
    assert of_forms(COMBINED, MEAN, derived=True, noise=2e-3)["CLIP_MISSING"].confidence == MEDIUM
    assert of_forms(COMBINED, MEAN, derived=True, noise=5e-4)["CLIP_MISSING"].confidence == HIGH
    found = of_forms(COMBINED, MEAN, derived=True)["CLIP_MISSING"]
    assert found.because.endswith("; the port's was worked out from its update")
    assert "(residual 1.0e-08)" in found.because


def job(clip):
    return Job(dataclasses.replace(Dyadic(), clip=clip), 4)


@pytest.mark.parametrize(
    "fault, clip, changed",
    [
        ("clipped_on_each_replica", Clip(2.0, "combined"), Clip(2.0, "tower")),
        ("clipped_after_and_not_in_towers", Clip(2.0, "tower"), Clip(2.0, "combined")),
        ("clipnorm_for_global_clipnorm", Clip(2.0), Clip(2.0, how="norm")),
        ("clip_limit_over_replicas", Clip(2.0, "combined"), Clip(0.5, "combined")),
        ("clip_limit_of_another_run", Clip(2.0), Clip(1.6)),
        ("not_clipped", Clip(2.0), None),
        ("clipped_in_the_port_only", None, Clip(0.5, "combined")),
    ],
)
def test_faults_change_the_workload_s_clipping(fault, clip, changed):
    assert change_of(fault).fields[0](job(clip)) == {"clip": changed}


def test_an_epsilon_beside_the_norm_is_named():
    found = of_forms(COMBINED, dataclasses.replace(COMBINED, epsilon=1e-6))
    assert list(found) == ["CLIP_EPSILON"]
    assert found["CLIP_EPSILON"].sentence == "The port clips to 2 over the norm + 1e-06, legacy over the norm itself."
    other_limit = of_forms(COMBINED, CombinedForm("mean", "combined", limit=3.0, epsilon=1e-6))
    assert list(other_limit) == ["CLIP_LIMIT"]


@pytest.mark.parametrize("where", ["combined", "tower"])
@pytest.mark.parametrize("norm, epsilon, factor", [(5.0, 3.0, 0.25), (1.0, 0.5, 1.0)])
def test_clipping_as_by_pytorch_adds_to_the_norm_and_never_enlarges(where, norm, epsilon, factor):
    (step_class,) = clip_with_epsilon(epsilon).steps
    job = Job(Dyadic(clip=Clip(2.0, where)), 4, global_batch=8)
    step = step_class(job, ModernOptions(), variables=None, rules=None)
    combined = combine(step, {"w": tf.constant([0.6 * norm, 0.8 * norm], tf.float64)})
    assert combined["w"].numpy().tolist() == pytest.approx([0.6 * norm * factor, 0.8 * norm * factor], rel=1e-15)
