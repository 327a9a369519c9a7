"""Machines that are built in, by name, with the public sources of their numbers.

Peak rates and bandwidths are those of the data sheets; the shares of them that kernels reach are measurements that
others have published (`_GPU`). Nothing here was fitted to a result of the five write-ups.
"""

from __future__ import annotations

import dataclasses

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


def _gpu(
    name: str, *, tflops: float, tflops_float64: float, gb_per_second: float, gb: float, tflops_tf32: float = 0.0
) -> Processor:
    """An accelerator by the figures of its data sheet; `tflops` are those in float32."""
    flops = {"float32": tflops * TERA, "float64": tflops_float64 * TERA}
    if tflops_tf32:  # TensorFlow's default for products in float32 where tensor cores have it
        flops[TF32] = tflops_tf32 * TERA
    return Processor(
        name, flops, gb_per_second * GB, gb * GB, launch=10e-6, hand_on=0.0, lanes=1, efficiency=_EFFICIENCY
    )


def _host(
    name: str, *, cores: int, gigahertz: float, flops_per_cycle: int, gb_per_second: float, gb: float
) -> Processor:
    """A CPU by the figures of its data sheet; `flops_per_cycle` are one core's in float32."""
    peak = cores * gigahertz * 1e9 * flops_per_cycle
    flops = {"float32": peak, "float64": peak / 2}
    return Processor(
        name,
        flops,
        gb_per_second * GB,
        gb * GB,
        launch=2e-6,
        hand_on=0.5e-6,
        lanes=cores,
        efficiency=_HOST_EFFICIENCY,
    )


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

_I7 = _host("Core i7-6700K", cores=4, gigahertz=4.0, flops_per_cycle=32, gb_per_second=34.1, gb=16)
_DGX1 = _host("2 x Xeon E5-2698 v4", cores=40, gigahertz=2.2, flops_per_cycle=32, gb_per_second=153.6, gb=512)


def _completed(machine: Machine) -> Machine:
    """Adds the numbers that all machines share: the costs of calls, and the sources of the efficiencies of kernels."""
    return dataclasses.replace(
        machine,
        call=_CALL,
        function_call=_CALL,
        capture=_CAPTURE,
        loop=_LOOP,
        feed=_FEED,
        sources=(*machine.sources, DEEP_BENCH, BANDWIDTH, ASSUMED),
    )


_MACHINES = (
    Machine(
        "gtx1060",
        device=_gpu("GTX 1060 6 GB", tflops=4.37, tflops_float64=0.137, gb_per_second=192, gb=6),
        count=4,
        host=_I7,
        host_link=_PCIE3_X8,
        topology=THROUGH_HOST,
        network=ETHERNET_10,
        sources=(
            "NVIDIA GeForce GTX 1060: 1,280 cores at 1,708 MHz boost, 192 GB/s",
            "Intel Core i7-6700K, one of the i7s of its time, with AVX2: 4 cores at 4.0 GHz, 34.1 GB/s; its 16 "
            "lanes of PCIe 3.0 are divided among two cards, which are not taken to be peers",
        ),
    ),
    Machine(
        "gtx1080ti",
        device=_gpu("GTX 1080 Ti", tflops=11.34, tflops_float64=0.354, gb_per_second=484, gb=11),
        count=4,
        host=_host("Core i7-6850K", cores=6, gigahertz=3.6, flops_per_cycle=32, gb_per_second=76.8, gb=64),
        host_link=_PCIE3_X8,
        peer_link=Link("PCIe 3.0 x8, peers", 6 * GB, 10e-6),
        topology=PCIE,
        network=ETHERNET_10,
        sources=("NVIDIA GeForce GTX 1080 Ti: 3,584 cores at 1,582 MHz boost, 484 GB/s",),
    ),
    Machine(
        "k80",
        device=_gpu("half a K80", tflops=4.37, tflops_float64=1.46, gb_per_second=240, gb=12),
        count=8,
        host=_host(
            "Xeon E5-2686 v4, 16 cores", cores=16, gigahertz=2.3, flops_per_cycle=32, gb_per_second=76.8, gb=488
        ),
        host_link=Link("PCIe 3.0 x16, shared by two", 6 * GB, 10e-6),
        peer_link=Link("PCIe 3.0 x16, peers", 6 * GB, 10e-6),
        topology=PCIE,
        network=ETHERNET_10,
        sources=(
            "NVIDIA Tesla K80: 8.73 TFLOP/s with boost and 480 GB/s for two GPUs",
            "Amazon EC2 p2.8xlarge",
        ),
    ),
    Machine(
        "p100",
        device=_gpu("P100 SXM2", tflops=10.6, tflops_float64=5.3, gb_per_second=732, gb=16),
        count=8,
        host=_DGX1,
        host_link=_PCIE3_X16,
        peer_link=Link("NVLink 1.0, one link", 18 * GB, 5e-6),
        ring_link=Link("NVLink 1.0, ring of all", 36 * GB, 10e-6),
        topology=DIRECT,
        network=ETHERNET_50,
        sources=(
            "NVIDIA Tesla P100 SXM2: 10.6 TFLOP/s, 732 GB/s, 4 NVLinks of 20 GB/s each way",
            "NVIDIA DGX-1",
        ),
    ),
    Machine(
        "v100",
        device=_gpu("V100 SXM2", tflops=15.7, tflops_float64=7.8, gb_per_second=900, gb=16),
        count=8,
        host=_DGX1,
        host_link=_PCIE3_X16,
        peer_link=Link("NVLink 2.0, one link", 22 * GB, 5e-6),
        ring_link=Link("NVLink 2.0, rings of all", 120 * GB, 10e-6),
        topology=DIRECT,
        network=INFINIBAND_100,
        sources=(
            "NVIDIA Tesla V100 SXM2: 15.7 TFLOP/s, 900 GB/s, 6 NVLinks of 25 GB/s each way",
            "NVIDIA DGX-1",
        ),
    ),
    Machine(
        "h100",
        device=_gpu("H100 SXM5", tflops=67, tflops_float64=34, gb_per_second=3350, gb=80, tflops_tf32=494),
        count=8,
        host=_host("2 x Xeon Platinum 8480C", cores=112, gigahertz=2.0, flops_per_cycle=64, gb_per_second=614, gb=2048),
        host_link=_PCIE5_X16,
        peer_link=Link("NVLink 4.0 through NVSwitch", 400 * GB, 5e-6),
        topology=DIRECT,
        network=INFINIBAND_400,
        sources=(
            "NVIDIA H100 SXM5: 67 TFLOP/s in float32, 494 in TF32, 3.35 TB/s, NVLink 450 GB/s each way",
            "NVIDIA DGX H100",
        ),
    ),
)

#: {name: machine with as many accelerators as it has at most}.
MACHINES = {machine.name: _completed(machine) for machine in _MACHINES}
