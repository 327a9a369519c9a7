from parity.diagnosis.context.job_context import Context
from parity.diagnosis.signatures.passes import compare_passes
from tests.parity.causes.facts import batch
from tests.parity.causes.statistics_facts import moving_statistics
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record

G = {"a": [1.0, 0.0, 2.0], "b": [3.0, 4.0, 5.0]}
STATE = made_up_state(G, statistics={"two/mean": [0.0], "one/mean": [0.0]})


def passes(gradient=None, loss=1.0, gaps=None, batches=()):
    left = step_record(losses=[1.0], gradients=[G], state=STATE)
    right = step_record(losses=[loss], gradients=[{**G, **(gradient or {})}], state=STATE)
    facts = moving_statistics(gaps=gaps) if gaps is not None else None
    return compare_passes(
        made_up_evidence([compared_step(left, right, STATE)], Context(1, 4), statistics=facts, batches=list(batches))
    )


def test_equal_passes_agree_everywhere():
    found = passes(gaps={"two/mean": 0.0, "one/mean": 0.0})
    assert found.losses_agree and found.unequal_gradients == found.revived == found.unequal_norms == []
    assert found.equal_gradients == ["a", "b"] and found.equal_norms == ["two", "one"]


def test_losses_agree_within_rounding():
    assert passes(loss=1 + 1e-6).losses_agree
    assert not passes(loss=1 + 3e-6).losses_agree
    assert not passes(loss=float("nan")).losses_agree


def test_the_first_layer_with_other_moments_is_found_in_the_models_order():
    found = passes(gaps={"one/mean": 0.5, "two/mean": 0.0})
    assert (found.equal_norms, found.unequal_norms, found.first_gap) == (["two"], ["one"], 0.5)


def test_units_without_a_gradient_are_revived():
    found = passes({"a": [1.0, 0.5, 2.0]})
    assert (found.revived, found.unequal_gradients) == (["a"], ["a"])
    assert passes({"a": [1.5, 0.0, 2.0]}).revived == []


def test_other_batches_are_not_compared():
    assert passes(batches=[batch()]) is None
