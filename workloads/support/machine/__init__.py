"""This machine: its devices and memory, and the settings that TensorFlow reads from the process's environment.

Here: settings made once a process, before TensorFlow runs. Not here: strategies and placement of a program's ops.
Start with `environment.py`."""
