"""The five systems, a file each: a `Workload` subclass, and its instances `SEED` (the write-up's) and `SMALL`."""
