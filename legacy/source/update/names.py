"""Names of train ops in the text: of their functions, their losses and the lists of their weights."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, List, NamedTuple, Sequence

from legacy.source.lines.identifiers import identifier
from legacy.source.lines.naming import common_folder

if TYPE_CHECKING:
    from legacy.source.update.gradient_path import GradientPath
    from workloads.lifted.plan import Phase

#: Names that optimizers and groups give their train ops, which do not say what is trained.
_DEFAULT = re.compile(r"(adam|rms_?prop|momentum|gradient_descent|ada_?grad|ada_?delta|ftrl|nadam|no_op|group_deps\w*)")


class TrainOpName(NamedTuple):
    """Names of a train op in the text.

    Attributes:
      function: name of its function.
      loss: name of the function of its loss.
      weights: name of the list of its weights.
    """

    function: str
    loss: str
    weights: str


def names_of_train_ops(phases: Sequence[Phase], paths: Sequence[GradientPath]) -> List[TrainOpName]:
    """Returns the names of train ops: after what they train, where they have their optimizers' names.

    Args:
      phases: the train ops, in turn.
      paths: of their gradients.

    Returns:
      The names, which may be equal.
    """
    if len(phases) == 1:
        return [TrainOpName("train_step", "tower_loss", "WEIGHTS")]
    weights = [[weight for own in path.weights_of_losses().values() for weight in own] for path in paths]
    different = list(dict.fromkeys(phase.train_op for phase in phases))
    places = [[phase.train_op for phase in phases].index(train_op) for train_op in different]
    folders = dict(zip(different, names_of_folders([weights[place] for place in places])))
    names = []
    for phase in phases:
        own = identifier(phase.train_op)
        folder = folders.get(phase.train_op, "") if _DEFAULT.fullmatch(own) else ""
        base = folder or own
        names.append(TrainOpName("train_" + folder if folder else own, base + "_loss", base.upper() + "_WEIGHTS"))
    return names


def names_of_folders(groups: Sequence[Sequence[str]]) -> List[str]:
    """Returns the name of the folder that the weights of each group are in; none if these do not tell them apart.

    >>> names_of_folders([["gan/generator/w", "gan/generator/b"], ["gan/discriminator/w"]])
    ['generator', 'discriminator']
    >>> names_of_folders([["net/w"], ["net/w", "net/b"]])
    []
    """
    folders = [common_folder(weights) for weights in groups]
    names = [identifier(folder) for folder in folders]
    return names if all(folders) and len(set(names)) == len(names) else []
