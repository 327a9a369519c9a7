"""One tower's loss: that of the model, called on a `Scope`, plus the penalties that it reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from workloads import model_checks
from workloads.scope import Scope
from workloads.support.user import user_code

if TYPE_CHECKING:
    from workloads.frame import Frame, Tensors
    from workloads.workload import Workload


def tower_loss(workload: Workload, frame: Frame, batch: Tensors, kind: type[Scope] = Scope) -> tf.Tensor:
    """Builds one tower's loss: the model's plus its penalties.

    Args:
      workload: the model.
      frame: answers the model and collects its penalties.
      batch: {input name: tensor [per-replica batch, *shape]}.
      kind: class of the scope that the model sees.

    Returns:
      scalar tensor of the run's dtype.

    Raises:
      InputError: the model returned something else.
      UserError: the model raised an exception.
    """
    what, inputs = f"{workload.name}.loss", ", ".join(f"{n} {v.dtype.name} {v.shape}" for n, v in batch.items())
    with user_code.calling(what, workload.loss, f"a scalar from scope.get's variables and the batch ({inputs})"):
        loss = workload.loss(kind(frame), batch)
    model_checks.check_loss(user_code.named(what, workload.loss), loss, frame.dtype)
    return tf.add_n([loss] + frame.penalties) if frame.penalties else loss
