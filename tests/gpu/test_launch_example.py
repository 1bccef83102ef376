"""The examples that launch a graph from its files, in C and in Python, on the emulated driver."""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys

import pytest

from gpu.emulated_driver import copy_of_library
from gpu.small_kernels import small_kernels

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "gpu"
FUSED = """
import minidynamo as torch


def f(x, y):
    return (x * y + 1).relu().sum(1), torch.softmax(x, -1)


torch.manual_seed(0)
given = [torch.randn(64, 100), torch.randn(100)]
"""
OPERATIONS = """
import minidynamo as torch

F = torch.nn.functional


def f(x, w, b, at, image, filters, dynamic):
    h = F.gelu(F.linear(x, w, b))
    values, positions = torch.sort(h, dim=-1, descending=True)
    rows = h[at] + F.embedding(at, w[:, :4].contiguous())[:, :1]
    maps = F.max_pool2d(F.conv2d(image, filters, padding=1).relu(), 2)
    return torch.softmax(h @ h.t(), -1), values, positions, rows, maps, h.cumsum(0), torch.topk(h, 3)[0], dynamic[::2]


torch.manual_seed(0)
given = [torch.randn(64, 100), torch.randn(48, 100), torch.randn(48), torch.randint(0, 48, (5,))]
given += [torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3), torch.randn(9, 2)]
torch._dynamo.mark_dynamic(given[-1], 0)
"""
KEPT = """
for number, tensor in enumerate(given):
    tensor.numpy().tofile(f"in_{number}.bin")
for number, tensor in enumerate(torch.compile(f)(*given)):
    tensor.numpy().tofile(f"expected_{number}.bin")
"""


@pytest.fixture(scope="module", params=["c", "python"])
def launch(request, tmp_path_factory):
    """Runs one of the two programs; its output, or its complaint."""
    command = [sys.executable, EXAMPLES / "launch.py"]
    if request.param == "c":
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang-19")
        assert compiler, "no C compiler"
        program = tmp_path_factory.mktemp("launch") / "launch"
        warnings = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
        subprocess.run([compiler, *warnings, EXAMPLES / "launch.c", "-o", program, "-ldl"], check=True)
        command = [program]

    def run(folder, *words, **environment):
        environment = {**os.environ, "MINIDYNAMO_CUDA_DRIVER": copy_of_library(), **environment}
        whole = [*command, folder, "0", *words]
        done = subprocess.run(whole, env=environment, capture_output=True, text=True, timeout=100)
        return done.stdout if done.returncode == 0 else done.stderr

    return run


def write_manifest(folder, **changes):
    (folder / "code.ptx").write_text(small_kernels())
    tensor = {"name": "x", "memory": "input 0", "dtype": "int32", "sizes": [8], "strides": [1], "shift": 0, "bytes": 32}
    graph = {
        "inputs": [tensor],
        "outputs": [{**tensor, "bytes": None}],
        "constants": [],
        "temporaries": [],
        "kernels": [0],
    }
    arguments = [
        {"kind": "buffer", "of": "input 0", "dtype": "int32", "shift": 2},
        {"kind": "cols", "value": 4},
        {"kind": "param", "value": -3},
    ]
    kernel = {"file": "code.ptx", "entry": "affine", "name": "affine", "graph": 0, "arguments": arguments, "why": ""}
    kernel |= {"grid": [1, 1, 1], "block": [32, 1, 1], "shared_bytes": 0, **changes}
    text = json.dumps({"version": 1, "graphs": [graph], "kernels": [kernel]}, indent=1)
    (folder / "manifest.json").write_text(text)
    return text


def test_a_manifest_written_by_hand(launch, tmp_path):
    write_manifest(tmp_path)
    (tmp_path / "x.bin").write_bytes(struct.pack("8i", *range(8)))
    assert launch(tmp_path, tmp_path / "x.bin") == "output_0.bin: 32 bytes\n"
    content = (tmp_path / "output_0.bin").read_bytes()
    assert struct.unpack("8i", content) == (0, 1, -5, -8, -11, -14, 6, 7)


def test_an_element_handed_over_by_value(launch, tmp_path):
    first, count, _ = json.loads(write_manifest(tmp_path))["kernels"][0]["arguments"]
    of_input = {"kind": "value", "of": "input 0", "dtype": "int32", "shift": 7}
    write_manifest(tmp_path, arguments=[first, count, of_input])
    (tmp_path / "x.bin").write_bytes(struct.pack("8i", *range(8)))
    assert launch(tmp_path, tmp_path / "x.bin") == "output_0.bin: 32 bytes\n"
    content = (tmp_path / "output_0.bin").read_bytes()
    assert struct.unpack("8i", content) == (0, 1, 15, 22, 29, 36, 6, 7)


@pytest.mark.parametrize(
    "changes, files, complaint",
    [
        ({"file": None, "why": "there is none"}, ["x.bin"], "there is none"),
        ({"entry": "nothing"}, ["x.bin"], "CUDA_ERROR_NOT_FOUND"),
        ({"block": [2000, 1, 1]}, ["x.bin"], "CUDA_ERROR_INVALID_VALUE"),
        ({}, ["short.bin"], "launch"),
    ],
    ids=["no kernel", "no entry", "block", "size"],
)
def test_what_goes_wrong_is_said(launch, tmp_path, changes, files, complaint):
    write_manifest(tmp_path, **changes)
    (tmp_path / "x.bin").write_bytes(bytes(32))
    (tmp_path / "short.bin").write_bytes(bytes(31))
    said = launch(tmp_path, *(tmp_path / name for name in files))
    assert complaint in said or "another size" in said
    assert not (tmp_path / "output_0.bin").exists()


def test_no_driver(launch, tmp_path):
    write_manifest(tmp_path)
    (tmp_path / "x.bin").write_bytes(bytes(32))
    assert "nowhere.so" in launch(tmp_path, tmp_path / "x.bin", MINIDYNAMO_CUDA_DRIVER="/nowhere.so")


@pytest.mark.parametrize("program", [FUSED, OPERATIONS], ids=["fused", "operations"])
def test_files_of_the_command_ptx(launch, tmp_path, program):
    """The graph's results on the device are those of the processor, to the bit."""
    (tmp_path / "program.py").write_text(program + KEPT)
    command = [sys.executable, "-m", "minidynamo", "ptx", "--target", "sm_80", "-o", "out", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=100)
    assert "without a kernel" not in done.stderr
    said = launch(tmp_path / "out", *sorted(tmp_path.glob("in_*.bin")))
    assert said.startswith("output_0.bin: "), said
    (graph,) = json.loads((tmp_path / "out" / "manifest.json").read_text())["graphs"]
    for number, output in enumerate(graph["outputs"]):
        if output["memory"].startswith("output"):
            result = (tmp_path / "out" / f"output_{number}.bin").read_bytes()
            assert result == (tmp_path / f"expected_{number}.bin").read_bytes()
    assert number >= 1
