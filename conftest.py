"""Doctests of kernels for graphics cards are collected where their compiler is: Triton is made for Linux alone."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("triton") else ["src/discreet/learning/torch_training/*_kernels.py"]
