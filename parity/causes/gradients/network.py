"""Causes in the network: its loss, its activations, its convolutions, and where its gradients stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, LOW, MEDIUM, Cause, Fault, Finding
from parity.causes.basics.wording import format_factor, shortest_decimal
from parity.causes.gradients import faulty_layers
from parity.causes.gradients.numerics import tf32
from parity.causes.statistics.batch_norm import bn_epsilon
from parity.comparison import stages
from parity.diagnosis.localization.layers import find_diverging_layer
from parity.diagnosis.signatures.layer_inputs import compare_layer_inputs
from parity.diagnosis.signatures.passes import Passes, compare_passes
from parity.diagnosis.signatures.smoothed_labels import find_smoothed_labels
from parity.layers.first_layer import FORWARD
from workloads.support.wording import counted, plural

if TYPE_CHECKING:
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from workloads.workload import Workload

#: Taps of layers that end without an activation.
WITHOUT_ACTIVATION = ("/conv.output", "/dense.output", "/batch_norm.output")

#: Gradients that differ by more than this part of their length, while the losses agree, have another backward pass.
FAR_APART = 1e-2


def label_smoothing(evidence: Evidence) -> Finding | None:
    """Recognizes LABEL_SMOOTHING: the gradient of the logits' biases differs by whole examples' shares."""
    found = find_smoothed_labels(evidence)
    if found is None:
        return None
    part = format_factor(abs(found.smoothing))
    sides = ("The port", "legacy") if found.smoothing > 0 else ("Legacy", "the port")
    sides = sides if found.side_known else ("One side", "the other")
    return Finding(
        f"{sides[0]} smooths its labels, and {sides[1]} does not, or less: {part} of each is spread over all classes.",
        HIGH if found.distinct else LOW,
        f"the gradient of {found.name} differs by {part} x (share of the class in the batch "
        f"- 1 / classes), with whole numbers of examples, in {found.gradients} gradients"
        + ("" if found.distinct else "; a factor of the loss would look the same, for all classes are equally likely"),
        {"smoothing": found.smoothing if found.side_known else 0.0},
        ambiguous=not found.distinct,
    )


def _inject_smoothing(finding: Finding, setup: Setup) -> injection.Change | None:
    if finding.constants["smoothing"] <= 0:  # legacy's labels may be smoothed, and the clean port's are not
        return None
    return faulty_layers.smoothed_labels(shortest_decimal(finding.constants["smoothing"], 1e-3))


def rectifier(evidence: Evidence) -> Finding | None:
    """Recognizes RECTIFIER: elements that legacy gives no gradient get one in the port, and the losses differ."""
    passes = compare_passes(evidence)
    if passes is None or not passes.revived or passes.losses_agree or _explained(evidence):
        return None
    if passes.replicas or _parts_in_a_product(evidence):  # other replicas run the same layers, and agree
        return None
    layer = find_diverging_layer(evidence)
    at_activation = layer is not None and layer.way == FORWARD
    return Finding(
        f"Units that are dead in legacy get gradients in the port ({', '.join(passes.revived[:3])}): its rectifier has "
        "a slope for negative numbers (leaky), or is another function.",
        MEDIUM if at_activation else LOW,
        f"elements of the gradients of {counted(len(passes.revived), 'weight')} are zero in every tower and not in the "
        "port, from the same weights and batches"
        + ("" if at_activation else "; other inputs of these units, from a layer before, would look the same"),
        variables=tuple(passes.revived),
    )


def forward_pass(evidence: Evidence) -> Finding | None:
    """Recognizes FORWARD_PASS: losses differ from the same weights and batches, and no cause says why.

    Activations may also show that the forward passes differ by too little for the losses to do so.
    """
    passes = compare_passes(evidence)
    if passes is None or _explained(evidence) or not passes.unequal_gradients:
        return None
    layer = find_diverging_layer(evidence)
    if passes.losses_agree and (layer is None or layer.way != FORWARD):
        return None
    if rectifier(evidence) or label_smoothing(evidence) or bn_epsilon(evidence) or _is_noise(evidence):
        return None
    return Finding(
        f"From the same weights and batches the port computes another loss{_on_replicas(passes)}: "
        f"{_where(passes, evidence) if layer is None else layer.sentence()}. A convolution's padding, stride or "
        "dilation, an activation, a constant of a layer, what is done to the batch or the loss itself differs there.",
        LOW if layer is None else MEDIUM,
        f"gradients of {counted(len(passes.unequal_gradients), 'weight')} differ without a factor or a penalty's "
        f"form, and {len(passes.equal_gradients)} agree",
        {} if layer is None else {"layer": layer.layer},
        variables=tuple(passes.unequal_norms[:1]) if layer is None else (),
    )


def backward_pass(evidence: Evidence) -> Finding | None:
    """Recognizes BACKWARD_PASS: the losses agree and some gradients do not."""
    passes = compare_passes(evidence)
    if passes is None or not passes.losses_agree or passes.unequal_norms or _explained(evidence):
        return None
    if rectifier(evidence):
        return None
    if not passes.unequal_gradients or not passes.equal_gradients:
        return None
    layer = find_diverging_layer(evidence)
    if layer is not None and layer.way == FORWARD:
        return None
    listed, doubt = ", ".join(passes.unequal_gradients[:4]), ""
    if passes.steps:
        doubt = _of_some_steps(passes.steps)
    elif layer is None and not _are_far_apart(evidence):
        doubt = "; it is so small that the forward pass may differ by too little to show in the losses"
    return Finding(
        f"The losses are the same and the gradients of {counted(len(passes.unequal_gradients), 'weight')} are not "
        f"({listed}): a gradient is stopped in a branch, or an op has another gradient, between these weights and the "
        f"loss{'' if layer is None else '; ' + layer.sentence()}.",
        LOW if doubt else MEDIUM,
        f"all losses agree to rounding, as do the gradients of {counted(len(passes.equal_gradients), 'other weight')}; "
        "no factor or penalty explains the difference" + doubt,
        variables=tuple(passes.unequal_gradients),
        steps=passes.steps,
    )


def _of_some_steps(steps: Sequence[int]) -> str:
    """Says that the gradients differ in some steps only, which another op would not do."""
    listed = plural(len(steps), "step", "steps") + " " + ", ".join(map(str, steps[:4]))
    return (
        f"; it is there in {listed} alone, as where an activation lies within rounding of a rectifier's kink: "
        "parity.verify --tolerance=auto decides that in float64"
    )


def _are_far_apart(evidence: Evidence) -> bool:
    """Whether the gradients of some replica differ by more than a forward pass does that leaves the losses alone."""
    return any(np.hypot(entry.fit.residual, entry.fit.factor - 1) > FAR_APART for entry in evidence.gradients)


def _parts_in_a_product(evidence: Evidence) -> bool:
    """Whether the passes diverge first in a layer with weights and equal inputs, before any activation."""
    layer = find_diverging_layer(evidence)
    return layer is not None and layer.way == FORWARD and layer.tensor.endswith(WITHOUT_ACTIVATION)


def _on_replicas(passes: Passes) -> str:
    """The replicas that differ, in words; nothing where all do."""
    if not passes.replicas:
        return ""
    return f" on {plural(len(passes.replicas), 'replica', 'replicas')} {', '.join(map(str, passes.replicas))} only"


def _where(passes: Passes, evidence: Evidence) -> str:
    """The place in the network, in words: between normalizations, or between the inputs of matrices."""
    if passes.unequal_norms:
        before = f"after {passes.equal_norms[-1]} and " if passes.equal_norms else ""
        return f"{before}before {passes.unequal_norms[0]} normalizes, whose moments differ by {passes.first_gap:.1e}"
    if passes.equal_norms:
        return f"after the last normalization ({passes.equal_norms[-1]})"
    inputs = compare_layer_inputs(evidence)
    if not inputs.same and not inputs.other:
        return "it has no normalization that would show the layer"
    after = f"after the inputs of {inputs.same[-1]}" if inputs.same else ""
    before = f"before those that {inputs.other[0]} multiplies" if inputs.other else ""
    return (
        " and ".join(filter(None, [after, before]))
        + ", as the gradients' columns show (a common factor leaves no trace there)"
    )


def _is_noise(evidence: Evidence) -> bool:
    """Whether the gradients differ as products in reduced precision make them differ."""
    finding = tf32(evidence)
    return finding is not None and finding.confidence != LOW


def _explained(evidence: Evidence) -> bool:
    """Whether one factor and a decay explain the gradients."""
    return evidence.gradient_factors is not None or not all(
        np.isfinite(entry.fit.residual) for entry in evidence.gradients
    )


def _with_rectifier(workload: Workload) -> Workload | None:
    """Returns the workload without clipping if it has rectifiers, else None; an `adapt` of faults."""
    return None if workload.name in ("sigmoid_stack", "stacked_lstm") else injection.without_clip(workload)


CAUSES = (
    Cause(
        id="LABEL_SMOOTHING",
        stage=stages.LOSS,
        title="the labels are smoothed, or are not",
        signature="The gradient of the logits' biases differs by s (c_k / b - 1 / K), where c_k of a replica's b "
        "examples have class k of K",
        why="The argument label_smoothing of tf.losses and of Keras's and PyTorch's cross-entropies.",
        fix="Give the port legacy's label_smoothing, 0 where it has none.",
        criterion=label_smoothing,
        change=_inject_smoothing,
        faults=(Fault("labels_smoothed", faulty_layers.SMOOTHED_LABELS, faulty_layers.classifying),),
    ),
    Cause(
        id="RECTIFIER",
        stage=stages.LOSS,
        title="the rectifier has a slope for negative numbers",
        signature="Losses differ, if only by little, and units that are dead in legacy get gradients",
        why="LeakyReLU, ELU, GELU or another activation in the place of relu; the libraries' defaults differ in slope.",
        fix="Use tf.nn.relu where legacy does.",
        criterion=rectifier,
        faults=(Fault("leaky_rectifier", faulty_layers.LEAKY_RECTIFIER, _with_rectifier, also=("FORWARD_PASS",)),),
        last=True,
    ),
    Cause(
        id="FORWARD_PASS",
        stage=stages.LOSS,
        title="a layer computes something else",
        signature="From the same weights and batches the losses differ; the first normalization with other moments "
        "shows the layer",
        why="PyTorch pads as much before as after, 1.x's SAME pads more after where the stride is not 1; a residual "
        "block may have its stride in its first or second convolution; dilation, activation or a constant differs.",
        fix="Compare the layer that is named: padding, stride, dilation, activation, constants.",
        criterion=forward_pass,
        faults=(
            Fault(
                "convolution_padded_alike",
                faulty_layers.SYMMETRIC_CONV,
                faulty_layers.with_weights("stage1_block0/conv1/weights"),
                also=("RECTIFIER",),
            ),
            Fault(
                "pooling_padded_alike",
                faulty_layers.SYMMETRIC_POOL,
                faulty_layers.with_weights("local3/weights"),
                also=("RECTIFIER",),
            ),
            Fault(
                "stride_in_the_other_convolution",
                faulty_layers.LATER_STRIDE,
                faulty_layers.with_weights("stage1_block0/conv2/weights"),
                also=("RECTIFIER",),
            ),
            Fault(
                "dilated_convolution",
                faulty_layers.DILATED_CONV,
                faulty_layers.with_weights("conv2/weights"),
                also=("RECTIFIER",),
            ),
        ),
        last=True,
    ),
    Cause(
        id="BACKWARD_PASS",
        stage=stages.GRADIENTS,
        title="a gradient is stopped, or has another formula",
        signature="Losses agree, and the gradients of some weights do not",
        why="tf.stop_gradient (detach) in one branch, a custom gradient, or an op whose gradient differs between "
        "libraries.",
        fix="Let gradients pass where they pass in legacy.",
        criterion=backward_pass,
        faults=(
            Fault(
                "gradient_stopped_in_the_shortcuts",
                faulty_layers.STOPPED_SHORTCUT,
                faulty_layers.with_weights("shortcut/weights"),
            ),
        ),
        last=True,
    ),
)
