"""The five systems, one file each: a `Workload` subclass, with the instances `SEED` (the write-up's numbers) and `SMALL`."""
