"""One thread: the tests' tensors are small, and threads that wait for each other are slow on a busy machine."""

import os

os.environ.setdefault("TRITON_INTERPRET", "1")  # kernels for graphics cards run in their compiler's interpreter

import torch

torch.set_num_threads(1)
