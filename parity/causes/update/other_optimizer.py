"""Cause in the choice of the optimizer: a recording of Keras names another class than legacy's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parity.causes.basics.cause import MEDIUM, Cause, Finding
from parity.comparison import stages

if TYPE_CHECKING:
    from parity.diagnosis.evidence import Evidence

_UPDATE = (stages.WEIGHTS, stages.SLOTS)


def optimizer_other(evidence: Evidence) -> Finding | None:
    """Recognizes OPTIMIZER_OTHER: the port names another optimizer, and no rule shows that its updates are legacy's.

    An optimizer of another name may compute the same, as AdamW does without a decay. Slots of an unknown one are not
    recorded, so that nothing judges its updates.
    """
    optimizer, about = evidence.context.optimizer, evidence.context.about.get("right", {})
    keras = optimizer.keras_class() if optimizer is not None else None
    used = str(about.get("optimizer", "")) if "keras" in about else ""
    if keras is None or not used or used == keras.name:
        return None
    deviations = evidence.deviations
    unjudged = [stage for stage in _UPDATE if stage in deviations.unjudged]
    if not unjudged and not any(deviation.stage in _UPDATE for deviation in deviations.found):
        return None
    return Finding(
        f"The port's optimizer is Keras's {used}; legacy's is {type(optimizer).__name__}, which is Keras's "
        f"{keras.name}.",
        MEDIUM,
        "the recording names the class"
        + (f"; {' and '.join(unjudged)} differ, and what they are made of is not recorded" if unjudged else ""),
    )


CAUSES = (
    Cause(
        id="OPTIMIZER_OTHER",
        stage=stages.WEIGHTS,
        title="another optimizer",
        signature="The port's recording names a Keras optimizer that is not legacy's, and its updates are not shown to "
        "be legacy's",
        why="Nadam for Adam, RMSprop for Adam, or AdamW, whose decay of 0.004 is a default.",
        fix="Use the Keras class that agrees with legacy's optimizer, with its constants.",
        criterion=optimizer_other,
        by_step=False,
    ),
)
