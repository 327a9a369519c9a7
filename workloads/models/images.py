"""`ImageWorkload`: the inputs that image classifiers share, so that real images can be fed to any of them."""

from __future__ import annotations

import dataclasses

from workloads.workload import InputSpec, Workload


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
