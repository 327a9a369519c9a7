"""Real images: readers for the CIFAR-10 binary and the IDX formats, and the distortions of system 3."""
