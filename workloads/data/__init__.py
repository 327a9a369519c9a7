"""Real images: readers of data sets, and batches of distorted images as system 3 makes them.

Here: the CIFAR-10 binary and the IDX formats, the distortions, and the source of batches. Not here: synthetic batches
(`workloads.sources`). Start with `folder.py`.
"""
