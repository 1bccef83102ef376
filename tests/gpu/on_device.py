"""on_device.py PROGRAM: runs it with tensors made on the CUDA device wherever it names none."""

import runpy
import sys

import minidynamo as torch

if __name__ == "__main__":
    torch.set_default_device("cuda")
    runpy.run_path(sys.argv[1], run_name="__main__")
