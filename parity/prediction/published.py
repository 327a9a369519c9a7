"""Published scaling of training on clusters: the measurements, their machines, and their sources."""

from __future__ import annotations

from typing import NamedTuple, Optional

from parity.prediction.machines.built_in import ETHERNET_10, ETHERNET_25, ETHERNET_50, MACHINES
from parity.prediction.machines.machine import Link

TENSORFLOW = "TensorFlow benchmarks, May 2017 (tensorflow/docs_src/performance/benchmarks.md)"
HOROVOD = "Horovod, docs/benchmarks.rst"
GOYAL = "Goyal et al. 2017, arXiv:1706.02677"

#: Inside a machine of four P100 on PCIe, as Horovod's servers are taken to be.
_PCIE = MACHINES["k80"].host_link
_NVLINK = MACHINES["p100"].collective_link


class PublishedScaling(NamedTuple):
    """A published measurement of one model on a cluster.

    Attributes:
      model: its name.
      parameters: number of weights.
      batch: examples of a replica in one step.
      rate: examples a second of one replica by itself.
      inner: replicas in a machine.
      outer: machines.
      inside: link of a replica inside its machine.
      between: link of a machine to the network; None for one machine.
      start: replicas that the efficiency is relative to.
      efficiency: measured examples a second of a replica, relative to those at `start`.
      how: how gradients or weights were exchanged.
      source: where it is written.
    """

    model: str
    parameters: float
    batch: int
    rate: float
    inner: int
    outer: int
    inside: Link
    between: Optional[Link]
    start: int
    efficiency: float
    how: str
    source: str


#: Weights of the models, from their papers.
_ALEXNET, _INCEPTION, _RESNET50, _RESNET101, _RESNET152, _VGG = 61.1e6, 23.9e6, 25.6e6, 44.5e6, 60.2e6, 138.4e6

_ONE_MACHINE = [
    ("AlexNet", _ALEXNET, 512, 2987, 17822, "NCCL"),
    ("VGG16", _VGG, 64, 154, 1081, "NCCL"),
    ("ResNet-50", _RESNET50, 64, 219, 1734, "weights on the host's CPU"),
    ("InceptionV3", _INCEPTION, 64, 142, 1131, "weights on the host's CPU"),
    ("ResNet-152", _RESNET152, 64, 91.8, 716, "weights on the host's CPU"),
]
_EIGHT_K80 = [
    ("ResNet-50", _RESNET50, 64, 52.4, 2744),
    ("InceptionV3", _INCEPTION, 64, 29.7, 1783),
    ("ResNet-152", _RESNET152, 32, 19.4, 981),
]

PUBLISHED = (
    *(
        PublishedScaling(model, size, batch, one, 8, 1, _NVLINK, None, 1, eight / 8 / one, how, TENSORFLOW)
        for model, size, batch, one, eight, how in _ONE_MACHINE
    ),
    *(
        PublishedScaling(
            model, size, batch, one, 8, 8, _PCIE, ETHERNET_10, 1, all64 / 64 / one, "parameter servers", TENSORFLOW
        )
        for model, size, batch, one, all64 in _EIGHT_K80
    ),
    PublishedScaling("InceptionV3", _INCEPTION, 64, 142, 4, 128, _PCIE, ETHERNET_25, 1, 0.90, "ring", HOROVOD),
    # One replica by itself: ResNet-50's rate, divided by the ratio of their operations (7.8 and 4.1 GFLOP an image).
    PublishedScaling("ResNet-101", _RESNET101, 64, 115, 4, 128, _PCIE, ETHERNET_25, 1, 0.90, "ring", HOROVOD),
    PublishedScaling("VGG16", _VGG, 64, 154, 4, 128, _PCIE, ETHERNET_25, 1, 0.68, "ring", HOROVOD),
    PublishedScaling(
        "ResNet-50", _RESNET50, 32, 195, 8, 32, _NVLINK, ETHERNET_50, 8, 0.90, "halving and doubling, overlapped", GOYAL
    ),
)
