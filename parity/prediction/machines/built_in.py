"""Machines that are built in, by name, with the public sources of their numbers.

Peak rates and bandwidths are those of the data sheets; the shares of them that kernels reach are measurements that
others have published (`_GPU`). Nothing here was fitted to a result of the five write-ups.
"""

from __future__ import annotations

from parity.prediction.machines.machine import (
    DIRECT,
    OTHER_KINDS,
    PCIE,
    TF32,
    THROUGH_HOST,
    Efficiency,
    Link,
    Machine,
    Processor,
)
from parity.profiling.op_kinds import PRODUCTS

GB, TERA = 1e9, 1e12

DEEP_BENCH = (
    "efficiency of products and convolutions: Baidu DeepBench, training results of its README (GEMM: 0.51 to 0.70 of "
    "the peak at 0.8 to 2.6 GFLOP, median 0.56; 0.88 at 239 GFLOP. Convolutions: median 0.59)"
)
BANDWIDTH = "bandwidth that copies reach: 0.88 of a V100's (paranumal.com, 2018), taken for all accelerators as 0.8"
ASSUMED = (
    "assumed: 10 us to prepare and launch a kernel from TensorFlow's executor (CUDA's launch alone: about 5), 0.2 ms "
    "for a call, 5 us for each variable that a function captures, 20 us for a turn of a loop over steps, 30 us for "
    "each fed tensor, 0.8 of a CPU's peak in products and 0.7 of its bandwidth"
)

_EFFICIENCY = {
    PRODUCTS: Efficiency(compute=0.56, memory=0.8, large=0.88),
    "Conv2D": Efficiency(compute=0.59, memory=0.8),
    "Conv2DBackpropInput": Efficiency(compute=0.59, memory=0.8),
    "Conv2DBackpropFilter": Efficiency(compute=0.59, memory=0.8),
    OTHER_KINDS: Efficiency(compute=0.5, memory=0.8),
}
_HOST_EFFICIENCY = {PRODUCTS: Efficiency(0.8, 0.7), OTHER_KINDS: Efficiency(0.25, 0.7)}


def _gpu(name: str, peak: float, bandwidth: float, memory: float, double: float, tf32: float = 0.0) -> Processor:
    """An accelerator: TFLOP/s in float32, GB/s, GB, TFLOP/s in float64."""
    flops = {"float32": peak * TERA, "float64": double * TERA}
    if tf32:  # TensorFlow's default for products in float32 where tensor cores have it
        flops[TF32] = tf32 * TERA
    return Processor(name, flops, bandwidth * GB, memory * GB, 10e-6, 0.0, 1, _EFFICIENCY)


def _host(name: str, cores: int, gigahertz: float, flops_per_cycle: int, bandwidth: float, memory: float) -> Processor:
    """A CPU: cores, GHz, float32 operations a core and cycle, GB/s, GB."""
    peak = cores * gigahertz * 1e9 * flops_per_cycle
    flops = {"float32": peak, "float64": peak / 2}
    return Processor(name, flops, bandwidth * GB, memory * GB, 2e-6, 0.5e-6, cores, _HOST_EFFICIENCY)


#: Seconds of Python and of the runtime for a call, for each variable that a function captures, for a turn of the loop
#: over steps, and for each tensor that is fed.
_CALL, _CAPTURE, _LOOP, _FEED = 0.2e-3, 5e-6, 20e-6, 30e-6

#: Connections: rates that large copies reach, about 0.8 of the nominal ones.
_PCIE3_X16 = Link("PCIe 3.0 x16", 12 * GB, 10e-6)
_PCIE3_X8 = Link("PCIe 3.0 x8", 6 * GB, 10e-6)
_PCIE5_X16 = Link("PCIe 5.0 x16", 50 * GB, 10e-6)

#: Between machines.
ETHERNET_25 = Link("25 Gbit/s RoCE", 25 / 8 * 0.9 * GB, 5e-6)
ETHERNET_50 = Link("50 Gbit/s Ethernet", 50 / 8 * 0.9 * GB, 10e-6)
INFINIBAND_100 = Link("4 x 100 Gbit/s InfiniBand", 4 * 100 / 8 * 0.9 * GB, 2e-6)
INFINIBAND_400 = Link("8 x 400 Gbit/s InfiniBand", 8 * 400 / 8 * 0.9 * GB, 2e-6)
ETHERNET_10 = Link("10 Gbit/s Ethernet", 10 / 8 * 0.9 * GB, 30e-6)

_I7 = _host("Core i7-6700K", 4, 4.0, 32, 34.1, 16)
_DGX1 = _host("2 x Xeon E5-2698 v4", 40, 2.2, 32, 153.6, 512)


def _machine(
    name: str,
    device: Processor,
    count: int,
    host: Processor,
    host_link: Link,
    peer_link: Link | None = None,
    ring_link: Link | None = None,
    *,
    topology: str,
    network: Link,
    sources: tuple[str, ...],
) -> Machine:
    """A machine with what all have alike: the costs of calls, and the sources of the shares that kernels reach."""
    return Machine(
        name,
        device,
        count,
        host,
        host_link,
        peer_link,
        ring_link,
        topology=topology,
        call=_CALL,
        function_call=_CALL,
        capture=_CAPTURE,
        loop=_LOOP,
        feed=_FEED,
        network=network,
        sources=(*sources, DEEP_BENCH, BANDWIDTH, ASSUMED),
    )


_MACHINES = (
    _machine(
        "gtx1060",
        _gpu("GTX 1060 6 GB", 4.37, 192, 6, 0.137),
        4,
        _I7,
        _PCIE3_X8,
        topology=THROUGH_HOST,
        network=ETHERNET_10,
        sources=(
            "NVIDIA GeForce GTX 1060: 1,280 cores at 1,708 MHz boost, 192 GB/s",
            "Intel Core i7-6700K, one of the i7s of its time, with AVX2: 4 cores at 4.0 GHz, 34.1 GB/s; its 16 "
            "lanes of PCIe 3.0 are divided among two cards, which are not taken to be peers",
        ),
    ),
    _machine(
        "gtx1080ti",
        _gpu("GTX 1080 Ti", 11.34, 484, 11, 0.354),
        4,
        _host("Core i7-6850K", 6, 3.6, 32, 76.8, 64),
        _PCIE3_X8,
        Link("PCIe 3.0 x8, peers", 6 * GB, 10e-6),
        topology=PCIE,
        network=ETHERNET_10,
        sources=("NVIDIA GeForce GTX 1080 Ti: 3,584 cores at 1,582 MHz boost, 484 GB/s",),
    ),
    _machine(
        "k80",
        _gpu("half a K80", 4.37, 240, 12, 1.46),
        8,
        _host("Xeon E5-2686 v4, 16 cores", 16, 2.3, 32, 76.8, 488),
        Link("PCIe 3.0 x16, shared by two", 6 * GB, 10e-6),
        Link("PCIe 3.0 x16, peers", 6 * GB, 10e-6),
        topology=PCIE,
        network=ETHERNET_10,
        sources=(
            "NVIDIA Tesla K80: 8.73 TFLOP/s with boost and 480 GB/s for two GPUs",
            "Amazon EC2 p2.8xlarge",
        ),
    ),
    _machine(
        "p100",
        _gpu("P100 SXM2", 10.6, 732, 16, 5.3),
        8,
        _DGX1,
        _PCIE3_X16,
        Link("NVLink 1.0, one link", 18 * GB, 5e-6),
        Link("NVLink 1.0, ring of all", 36 * GB, 10e-6),
        topology=DIRECT,
        network=ETHERNET_50,
        sources=(
            "NVIDIA Tesla P100 SXM2: 10.6 TFLOP/s, 732 GB/s, 4 NVLinks of 20 GB/s each way",
            "NVIDIA DGX-1",
        ),
    ),
    _machine(
        "v100",
        _gpu("V100 SXM2", 15.7, 900, 16, 7.8),
        8,
        _DGX1,
        _PCIE3_X16,
        Link("NVLink 2.0, one link", 22 * GB, 5e-6),
        Link("NVLink 2.0, rings of all", 120 * GB, 10e-6),
        topology=DIRECT,
        network=INFINIBAND_100,
        sources=(
            "NVIDIA Tesla V100 SXM2: 15.7 TFLOP/s, 900 GB/s, 6 NVLinks of 25 GB/s each way",
            "NVIDIA DGX-1",
        ),
    ),
    _machine(
        "h100",
        _gpu("H100 SXM5", 67, 3350, 80, 34, tf32=494),
        8,
        _host("2 x Xeon Platinum 8480C", 112, 2.0, 64, 614, 2048),
        _PCIE5_X16,
        Link("NVLink 4.0 through NVSwitch", 400 * GB, 5e-6),
        topology=DIRECT,
        network=INFINIBAND_400,
        sources=(
            "NVIDIA H100 SXM5: 67 TFLOP/s in float32, 494 in TF32, 3.35 TB/s, NVLink 450 GB/s each way",
            "NVIDIA DGX H100",
        ),
    ),
)

#: {name: machine with as many accelerators as it has at most}.
MACHINES = {machine.name: machine for machine in _MACHINES}
