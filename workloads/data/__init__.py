"""Data from files and functions: readers, the order of the examples, and sources of batches.

Here: the user's own data (`--data`) as global batches that are a function of the step; real images (`--data_dir`): the
CIFAR-10 binary and the IDX formats, and the distortions. Not here: synthetic batches (`workloads.sources`), and how a
lifted graph's inputs are cut (`workloads.lifted.sources`). Start with `batches.py`; for images with `folder.py`.
"""
