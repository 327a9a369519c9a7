"""`Job`: a workload with the size it is run at, and all else that decides the numbers.

>>> from workloads.selection import registry
>>> job = Job(registry.get("regression"), replicas=3)
>>> job.global_batch, job.per_replica_batch
(66, 22)
>>> job.describe()["workload.optimizer"]
'Adam(beta1=0.9, beta2=0.999, epsilon=1e-08)'
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Optional

from workloads.support.errors import require
from workloads.workload import Workload, check_workload

DTYPES = ("float32", "float64")


@dataclasses.dataclass(frozen=True)
class Job:
    """One training run, described once for both sides.

    Attributes:
      workload: the `Workload`.
      replicas: number of towers, or of replicas; at least one.
      global_batch: examples of all replicas in one step; a multiple of `replicas`. None takes the workload's,
        rounded up to what the replicas divide.
      dtype: "float32" or "float64", of weights and activations.
      seed: of initial values, synthetic data, shuffling and noise.
      data: where the batches come from, in words (see `sources`).
      staleness: None for synchronous training. Else each replica's gradient is applied by itself, in the replicas'
        order, `staleness` updates later than it would be at 0, where the replicas' gradients of one step are applied
        one after the other (see `numerics.staleness`).

    Raises:
      InputError: a field is not usable.
    """

    workload: Workload
    replicas: int = 2
    global_batch: int = None  # type: ignore[assignment]  # the constructor replaces None
    dtype: str = "float32"
    seed: int = 0
    data: str = "synthetic"
    staleness: Optional[int] = None

    def __post_init__(self) -> None:
        check_workload(self.workload)
        require(self.replicas >= 1, "--replicas", self.replicas, "must be at least 1")
        require(self.dtype in DTYPES, "--dtype", self.dtype, "allowed: " + ", ".join(DTYPES))
        if self.global_batch is None:
            object.__setattr__(self, "global_batch", self.workload.default_global_batch(self.replicas))
        require(self.global_batch >= 1, "--global_batch", self.global_batch, "must be at least 1")
        require(
            self.global_batch % self.replicas == 0,
            "--global_batch",
            self.global_batch,
            f"must be a multiple of --replicas={self.replicas}",
        )
        require(self.staleness is None or self.staleness >= 0, "--staleness", self.staleness, "must be at least 0")
        self.workload.check_size(self.replicas, self.per_replica_batch)

    @property
    def per_replica_batch(self) -> int:
        """Number of examples that one replica sees in one step."""
        return self.global_batch // self.replicas

    def describe(self) -> dict[str, str]:
        """Returns {field: text} of everything that decides the numbers."""
        fields = {"workload." + name: text for name, text in self.workload.describe().items()}
        for name in ("replicas", "global_batch", "dtype", "seed", "data"):
            fields[name] = str(getattr(self, name))
        if self.staleness is not None:
            fields["staleness"] = str(self.staleness)
        return fields

    def digest(self) -> str:
        """Returns twelve hex digits that name this job: equal digests, equal jobs."""
        return hashlib.sha256(json.dumps(self.describe(), sort_keys=True).encode("utf-8")).hexdigest()[:12]
