"""What is known about the job beside its records: from the `Job` itself, or from the texts in a recording."""

from __future__ import annotations

import ast
import dataclasses
from typing import Any, Dict, Optional, Tuple

from workloads import optimizers
from workloads.lifted.workload import LiftedWorkload
from workloads.scope import trace_decayed
from workloads.workload import Clip, MovingAverage

_CLASSES = {
    cls.__name__: cls
    for cls in (
        Clip,
        MovingAverage,
        optimizers.GradientDescent,
        optimizers.Momentum,
        optimizers.Adam,
        optimizers.RMSProp,
        optimizers.Adagrad,
    )
}


@dataclasses.dataclass(frozen=True)
class Context:
    """The named choices that the left side stands for; None where nobody said.

    Attributes:
      replicas, global_batch: 0 if not known.
      optimizer, clip, combine, statistics, weight_decay, moving_average: as in `Workload`.
      decayed: names of the weights that the model decays.
      about: {side: {setting: text}}, what each side says of itself.
    """

    replicas: int = 0
    global_batch: int = 0
    optimizer: Optional[optimizers.Optimizer] = None
    clip: Optional[Clip] = None
    combine: Optional[str] = None
    statistics: Optional[str] = None
    weight_decay: Optional[float] = None
    moving_average: Optional[MovingAverage] = None
    decayed: Optional[Tuple[str, ...]] = None
    about: Dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def per_replica_batch(self):
        """Examples of one replica in one step; 0 if not known."""
        return self.global_batch // self.replicas if self.replicas else 0


def of_job(job, about=None):
    """The `Context` of a `Job`."""
    workload = job.workload
    if isinstance(workload, LiftedWorkload):  # what a saved graph does is in its ops, not in fields
        return Context(job.replicas, job.global_batch, about=about or {})
    fields = {name: getattr(workload, name) for name in _WORKLOAD_FIELDS}
    fields["decayed"] = trace_decayed(workload, job.per_replica_batch, job.dtype)
    return Context(job.replicas, job.global_batch, about=about or {}, **fields)


def of_texts(texts, about=None):
    """The `Context` of a recording's {field: text}; a text that is not one of this project's records is not known."""
    fields = {name: _parse(texts.get("workload." + name, "None")) for name in _WORKLOAD_FIELDS}
    sizes = [_parse(texts.get(name, "0")) or 0 for name in ("replicas", "global_batch")]
    return Context(*sizes, about=about or {}, **fields)


_WORKLOAD_FIELDS = ("optimizer", "clip", "combine", "statistics", "weight_decay", "moving_average")


def _parse(text):
    """A literal, or one of `_CLASSES` called with literals; None for anything else. Nothing is evaluated."""
    try:
        node = ast.parse(text, mode="eval").body
        if isinstance(node, ast.Call):
            made = _CLASSES[node.func.id]
            keywords = {keyword.arg: ast.literal_eval(keyword.value) for keyword in node.keywords}
            return made(*[ast.literal_eval(value) for value in node.args], **keywords)
        return ast.literal_eval(node)
    except (SyntaxError, ValueError, KeyError, AttributeError, TypeError):
        return None
