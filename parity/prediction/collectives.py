"""Time of an all-reduce by latency and bandwidth: ring, tree and hierarchical, as pure formulas.

The model of R. Hockney (1994): a message of n bytes takes alpha + n * beta seconds. Formulas and lower bounds:
R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA 2005;
P. Patarasu, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 2009. The additions
themselves are left out: on an accelerator they take a small part of the copies' time.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from parity.prediction.machines.machine import Link


def ring_seconds(size: float, members: int, link: Link) -> float:
    """Returns the seconds of a ring all-reduce: 2 (p - 1) alpha + 2 (p - 1) / p n beta.

    Reduce-scatter and all-gather around a ring (Patarasu and Yuan 2009). No algorithm moves fewer bytes.

    Args:
      size: bytes that each member has.
      members: number of members, p.
      link: of each member, in both directions at the same time.

    Returns:
      the seconds.
    """
    steps = 2 * (members - 1)
    return steps * link.latency + steps / members * size / link.bandwidth


def tree_seconds(size: float, members: int, link: Link) -> float:
    """Returns the seconds of reduce and broadcast along a binomial tree: 2 ceil(log2 p) (alpha + n beta).

    Few messages and many bytes: for small tensors (Thakur et al. 2005, section 4).

    Args:
      size: bytes that each member has.
      members: number of members, p.
      link: of each member.

    Returns:
      the seconds.
    """
    return 2 * _levels(members) * link.seconds(size)


def halving_seconds(size: float, members: int, link: Link) -> float:
    """Returns the seconds of Rabenseifner's all-reduce: 2 ceil(log2 p) alpha + 2 (p - 1) / p n beta.

    Recursive halving, then recursive doubling (Thakur et al. 2005, section 4.5). The two-tree all-reduce of NCCL 2.4
    (P. Sanders, J. Speck, J. L. Traff, 2009) has the same order of both terms. As given for powers of two.

    Args:
      size: bytes that each member has.
      members: number of members, p.
      link: of each member.

    Returns:
      the seconds.
    """
    return 2 * _levels(members) * link.latency + 2 * (members - 1) / members * size / link.bandwidth


def central_seconds(size: float, members: int, link: Link) -> float:
    """Returns the seconds of a reduction on one device: p - 1 copies to it, p - 1 back, one after the other.

    Args:
      size: bytes that each member has.
      members: number of members, p.
      link: of the central device.

    Returns:
      the seconds.
    """
    return 2 * (members - 1) * link.seconds(size)


#: Algorithms by name.
ALGORITHMS: dict[str, Callable[[float, int, Link], float]] = {
    "ring": ring_seconds,
    "tree": tree_seconds,
    "halving": halving_seconds,
    "one device": central_seconds,
}


def hierarchical_seconds(size: float, inner: int, outer: int, inside: Link, between: Link) -> float:
    """Returns the seconds of an all-reduce inside machines and between them.

    Reduce-scatter inside each machine, an all-reduce of each part between the machines, all-gather inside. The members
    of a machine share its network.

    Args:
      size: bytes that each member has.
      inner: number of members in a machine.
      outer: number of machines.
      inside: link of a member inside its machine.
      between: link of a machine to the network.

    Returns:
      the seconds.
    """
    if outer == 1:
        return ring_seconds(size, inner, inside)
    across = min(ring_seconds(size, outer, between), halving_seconds(size, outer, between))
    return ring_seconds(size, inner, inside) + across


def fastest(size: float, members: int, link: Link) -> tuple[str, float]:
    """Returns the fastest of `ALGORITHMS` for a size, and its seconds, as collective libraries choose by size.

    Args:
      size: bytes that each member has.
      members: number of members.
      link: of each member.

    Returns:
      (name, seconds).
    """
    return min(((name, formula(size, members, link)) for name, formula in ALGORITHMS.items()), key=lambda row: row[1])


def _levels(members: int) -> int:
    return math.ceil(math.log2(members)) if members > 1 else 0
