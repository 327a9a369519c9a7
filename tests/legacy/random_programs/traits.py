"""The traits of a random program, and what each may be."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator


@dataclasses.dataclass(frozen=True)
class Traits:
    """What a tower program does; the first choice of `CHOICES` is the plainest.

    Attributes:
      towers: their number.
      scope: the name scope of a tower, with its number; "" for devices alone.
      inputs: how a tower gets its examples.
      model: the layers.
      prepared: what is done to the examples before the towers take them.
      loss: the loss of a tower's examples.
      besides: a term of data that the loss contains besides, or a mask.
      penalty: the weights whose norm each tower's loss contains.
      combine: how the towers' gradients become one.
      clip: the clipping of gradients.
      optimizer: the update rule.
      rate: the learning rate.
      average: the moving average of weights.
      rates: whether all variables have one learning rate.
      place: the device of the variables.
      report: the summaries.
      fault: what is wrong with it; see `faults`.
    """

    towers: int = 2
    scope: str = "tower_%d"
    inputs: str = "split"
    model: str = "dense"
    prepared: str = "no"
    loss: str = "softmax"
    besides: str = "nothing"
    penalty: str = "none"
    combine: str = "stack"
    clip: str = "no"
    optimizer: str = "descent"
    rate: str = "constant"
    average: str = "none"
    rates: str = "one"
    place: str = "none"
    report: str = "none"
    fault: str = "none"


CHOICES: dict[str, tuple[object, ...]] = {
    "towers": (2, 3, 4),
    "scope": ("tower_%d", "gpu%d", "clone_%d/model", ""),
    "inputs": ("split", "slices", "each", "iterator", "unstacked", "open", "tf.slice", "queue"),
    "model": (
        "dense",
        "convolution",
        "embedding",
        "recurrent",
        "lstm",
        "loop",
        "attention",
        "residual",
        "layer norm",
        "highway",
        "maxout",
        "factorization",
        "dropout",
        "dropout by hand",
        "batch norm of each",
        "batch norm of first",
    ),
    "prepared": ("no", "bytes scaled", "centered", "flipped", "noise of each", "one-hot labels"),
    "loss": (
        "softmax",
        "one-hot softmax",
        "squares",
        "half squares",
        "sum / batch",
        "sum over classes",
        "absolute",
        "huber",
        "hinge",
        "logarithms",
        "focal",
        "sigmoids",
    ),
    "besides": (
        "nothing",
        "auxiliary",
        "mask",
        "smooth labels",
        "entropy",
        "class weights",
        "divergence",
        "activity",
    ),
    "penalty": ("none", "all", "matrices", "absolute"),
    "combine": (
        "stack",
        "add_n",
        "python sum",
        "sum",
        "losses / towers",
        "one loss",
        "pairs",
        "accumulate_n",
        "flat",
    ),
    "clip": (
        "no",
        "value after",
        "norm after",
        "global norm after",
        "global norm by hand after",
        "value in towers",
        "norm in towers",
        "global norm in towers",
    ),
    "optimizer": (
        "descent",
        "momentum",
        "nesterov",
        "Adam",
        "RMSProp",
        "RMSProp centered",
        "proximal",
        "Adagrad",
        "Adadelta",
        "Ftrl",
        "descent by hand",
        "velocity by hand",
        "moments by hand",
        "signs by hand",
        "decay by hand",
    ),
    "rate": (
        "constant",
        "exponential",
        "staircase",
        "pieces",
        "polynomial",
        "inverse time",
        "cosine",
        "warm-up",
        "natural exponential",
        "restarts",
        "rise and fall",
        "epochs",
        "branch",
        "square root",
        "fed",
        "variable",
    ),
    "average": ("none", "after", "of steps", "beside", "by hand"),
    "rates": ("one", "twice for biases"),
    "place": ("none", "/cpu:0", "towers in turn"),
    "report": ("none", "mean loss", "rate", "histograms", "mean accuracy"),
}


def random_traits(seed: int) -> Traits:
    """Returns traits drawn at random; half of a program's traits are the plainest, so that causes can be told apart."""
    generator = random.Random(seed)
    chosen = {
        name: choices[0] if generator.random() < 0.4 else generator.choice(choices) for name, choices in CHOICES.items()
    }
    return Traits(**chosen)  # type: ignore[arg-type]


def plainer(traits: Traits) -> Iterator[Traits]:
    """Yields the programs that have one trait less: in its place is the plainest choice."""
    for name, choices in CHOICES.items():
        if getattr(traits, name) != choices[0]:
            yield dataclasses.replace(traits, **{name: choices[0]})
