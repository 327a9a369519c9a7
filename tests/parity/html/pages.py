"""A made-up comparison and its page: two sides whose combined gradients differ from step 1 on."""

from parity.comparison.difference import Difference
from parity.comparison.history import History, LossPair
from parity.html.verification_page import verification_page

STAGE = {
    "tensors": 2,
    "elements": 8,
    "differing_elements": 4,
    "max_rel": 0.5,
    "max_ulp": 99,
    "failed": 1,
}
CAUSE = {
    "cause": "LOSS_NOT_DIVIDED",
    "sentence": "Every gradient is 2 x legacy's <b>",
    "fix": "Divide the loss.",
    "confidence": "high",
    "because": "fit",
    "confirmed": True,
}
OUTCOMES = [
    {"name": "clip", "choice": "clip", "change": "5 -> 6", "seen": False, "matters": True, "why": "never acts"},
    {"name": "optimizer.beta1", "choice": "optimizer", "change": "x", "seen": True, "matters": True, "why": ""},
]


def content(verdict="no parity", causes=(CAUSE,), not_shown=()):
    """What `--json` holds."""
    return {
        "verdict": verdict,
        "causes": list(causes),
        "unexplained": [],
        "not_shown": list(not_shown),
        "tolerance": "exact",
        "coverage": OUTCOMES,
        "stages": {"combined gradients": STAGE},
        "metrics": {},
        "settings": {"differences": [("program", "towers", "MirroredStrategy")]},
        "environment": {"tensorflow": "2.21"},
        "job": {"replicas": "2"},
    }


def history(differs=True):
    """The history of four steps of two variables."""
    made = History([LossPair(step, 1.0 / (step + 1), 1.0 / (step + 1) + differs * step) for step in range(4)])
    for step in range(4):
        for stage in ("loss", "combined gradients", "weights"):
            for name in ("conv/kernel", "conv/bias"):
                off = differs and step > 0
                made.add(step, stage, Difference(name, 4, 4 * off, max_rel=0.25 * step * off), 0.0)
    return made


def failing_page():
    """The page of a comparison that failed."""
    return verification_page("mine: 2 replicas", "NO PARITY: first at step 1", content(), history())


def passing_page():
    """The page of a comparison whose bits are identical."""
    made = content("not shown", causes=(), not_shown=["clip (never acts)"])
    return verification_page("mine: 2 replicas", "NOT SHOWN: 4 steps", made, history(differs=False))
