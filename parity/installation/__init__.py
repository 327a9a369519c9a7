"""Checks of what is installed and of what runs on this machine, which `parity.doctor` shows.

One file for each subject: packages, TensorFlow and its devices, older interpreters. Each gives `Check`s.
"""
