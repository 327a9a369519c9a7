"""`ImageWorkload`: the inputs that image classifiers share, so that real images can be fed to any of them."""

from __future__ import annotations

import abc
import dataclasses
from typing import TYPE_CHECKING

import tensorflow as tf

from workloads import layers
from workloads.workload import InputSpec, Workload

if TYPE_CHECKING:
    from workloads.scope import Scope, Tensors


@dataclasses.dataclass(frozen=True)
class ImageWorkload(Workload):
    """A classifier of [image_size, image_size, channels] images.

    Attributes:
      image_size: height and width of one image, in pixels.
      channels: of one image.
      classes: number of labels.
      distort: random crop, flip, brightness and contrast of real images; otherwise a centred crop.
    """

    image_size: int = 32
    channels: int = 3
    classes: int = 10
    distort: bool = False

    def inputs(self) -> dict[str, InputSpec]:
        shape = (self.image_size, self.image_size, self.channels)
        return {"images": InputSpec(shape), "labels": InputSpec((), "int", self.classes)}

    @abc.abstractmethod
    def logits(self, scope: Scope, images: tf.Tensor) -> tf.Tensor:
        """Builds the network; returns [batch, classes], of images [batch, image_size, image_size, channels]."""

    def loss(self, scope: Scope, batch: Tensors) -> tf.Tensor:
        return layers.cross_entropy(self.logits(scope, batch["images"]), batch["labels"])

    def metrics(self, scope: Scope, batch: Tensors) -> Tensors:
        return layers.classification_metrics(self.logits(scope, batch["images"]), batch["labels"])
