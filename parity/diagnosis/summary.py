"""The sharpest facts there are, one line each: what is said when no cause fits, and beside those that do."""

from __future__ import annotations

import numpy as np

from parity.comparison.fits import flatten_arrays, relative_norm


def summarize_facts(evidence):
    """[text], in causal order."""
    return [
        text
        for make in (_initial, _batches, _gradients, _combining, _rates, _updates, _statistics)
        for text in make(evidence)
    ]


def _initial(evidence):
    start = evidence.initial
    if start.weights or start.slots or start.reset or start.other:
        names = [weight.name for weight in start.weights] + list(start.slots) + start.reset + start.other
        yield f"{len(names)} initial values differ, first {names[0]}"


def _batches(evidence):
    unlike = [batch for batch in evidence.batches if not batch.same]
    if unlike:
        yield f"{len(unlike)} of {len(evidence.batches)} batches differ, first at step {unlike[0].step}: {unlike[0].shared:.0%} of the examples are shared"


def _gradients(evidence):
    found = [entry for entry in evidence.gradients if np.isfinite(entry.fit.factor)]
    if not found:
        yield "no step from the same state shows gradients on both sides"
        return
    if any(
        entry.fit.residual > evidence.clean_residual or abs(entry.fit.factor - 1) > evidence.clean_residual
        for entry in found
    ):
        worst = max(found, key=lambda entry: entry.fit.residual)
        factors, losses = [entry.fit.factor for entry in found], [entry.loss for entry in found]
        yield f"gradients are {min(factors):.6g} to {max(factors):.6g} x legacy's, residual up to {worst.fit.residual:.1e} (step {worst.step}, replica {worst.replica})"
        yield f"losses are {min(losses):.6g} to {max(losses):.6g} x legacy's"
        rows = {name: fit for entry in found for name, fit in entry.tensors.items() if np.isfinite(fit.residual)}
        name = max(rows, key=lambda n: max(rows[n].residual, abs(rows[n].factor - 1)), default=None)
        if name is not None:
            yield "most of it in {}: {:.6g} x, residual {:.1e}".format(name, *rows[name])
    else:
        yield f"gradients agree to {max(e.fit.residual for e in found):.1e} in steps from the same state"


def _combining(evidence):
    for side, who in zip(evidence.combined_fits, ("legacy", "the port")):
        if side is None:
            continue
        if side.first is not None:
            yield f"{who} gives its optimizer {side.first} (residual {side.fits[side.first]:.1e})"
        else:
            fit = side.coefficients[0]
            best = ", ".join(f"{value:.4g}" for value in fit.coefficients)
            yield f"what {who} gives its optimizer is no mean or sum of its replicas' gradients"
            yield f"its best weights, {best}, leave {fit.residual:.1e}"


def _rates(evidence):
    rates = evidence.learning_rates
    if len(rates.steps) and not rates.equal:
        yield f"learning rates {_few(rates.right)} against {_few(rates.left)}"


def _few(values):
    return ", ".join(f"{value:.4g}" for value in values[:5])


def _updates(evidence):
    for side, who in zip(evidence.updates, ("legacy", "the port")):
        if side is not None:
            yield f"{who} moves its weights {side.steps[0].factor.factor:.6g} x as its rule says, to {side.misfit(side.own_form):.1f} roundings"


def _statistics(evidence):
    names = sorted({name for step in evidence.steps for name in step.left.state.statistics})
    steps = [step for step in evidence.steps if step.same_state]
    if names and steps:
        a, b = (flatten_arrays(getattr(steps[0], side).state.statistics, names) for side in ("left", "right"))
        if relative_norm(b - a, a) > 0:
            yield f"statistics differ by {relative_norm(b - a, a):.1e} after the first step"
