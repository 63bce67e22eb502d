"""One thread: the tests' tensors are small, and threads that wait for each other are slow on a busy machine."""

import torch

torch.set_num_threads(1)
