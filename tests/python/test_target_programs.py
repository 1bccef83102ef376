"""Programs of graphs for GPUs, as options, logs, explain(), reports and files show them; predictions for two cards."""

import json
import logging
import os
import pathlib
import subprocess
import sys

import pytest

import minidynamo as torch
from minidynamo import _events
from minidynamo._dynamo import config, target_report
from minidynamo._targets import PTX, TARGETS, assembler, cards, refusal
from minidynamo._targets.files import Folder
from minidynamo._targets.program import TargetProgram

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """\
import sys
import minidynamo as torch


def f(x, w):
    y = (x * 2 + torch.tensor([1.0, 3.0])).relu()
    return y.sum(1), y @ w


x, w = torch.ones(6, 2, requires_grad=True), torch.ones(2, 3)
a, b = torch.compile(f)(x, w)
(a.sum() + b.sum()).backward()
print(a.tolist())
sys.exit(int(sys.argv[1]))
"""


def programs(function, *arguments, **options):
    """What compiling the function tells."""
    found = []

    def tell(event):
        found.append(TargetProgram(event.graph, event.direction, event.function, "", 0, event.program))

    with _events.subscribe(tell, ["target_program"]):
        result = torch.compile(function, **options)(*arguments)
    return found, result


def wanted(x, y):
    return (x * y + 1).sum(1)


def test_results_are_those_without():
    x, y = torch.rand(30, 40), torch.rand(30, 40)
    found, result = programs(wanted, x, y, options={"target": "sm_80"})
    assert torch.equal(result, wanted(x, y))
    (program,) = found
    (kernel,) = program.kernels
    assert (program.target, program.function, program.direction, program.why) == ("sm_80", "wanted", "Forward", "")
    assert kernel.name == "fused_mul_add_sum" and f".visible .entry {kernel.entry}(" in kernel.text
    assert ".target sm_80" in kernel.text and kernel.bytes == 4 * (30 * 40 * 2 + 30)
    assert all(kernel.grid) and 32 <= kernel.block[0] * kernel.block[1] * kernel.block[2] <= 1024
    kinds = [argument["kind"] for argument in kernel.arguments]
    assert kinds[:3] == ["buffer"] * 3 and kinds[-3:] == ["rows", "cols", "status"]
    assert [a["of"] for a in kernel.arguments[:3]] == ["input 0", "input 1", "output 0"]


def test_without_a_target_nothing_is_made():
    found, _ = programs(wanted, torch.rand(3, 4), torch.rand(3, 4))
    assert found == []


def test_who_names_the_target(monkeypatch):
    x = torch.rand(3, 4)
    with config.patch(target="sm_75"):
        assert programs(lambda a: a + 1, x)[0][0].target == "sm_75"
        assert programs(lambda a: a + 1, x, options={"target": "sm_90"})[0][0].target == "sm_90"
        monkeypatch.setattr(target_report, "_OF_PROCESS", "sm_89")  # read as the process begins
        assert programs(lambda a: a + 1, x, options={"target": "sm_90"})[0][0].target == "sm_89"


def test_unknown_targets_of_settings(monkeypatch):
    """They are told where they are set, and not as a defect found while compiling."""
    for setting in (lambda: setattr(config, "target", "sm_60"), lambda: config.patch(target="avx2")):
        with pytest.raises(RuntimeError, match=r"there is no target .*; there are sm_75, .*, gfx1100$"):
            setting()
    assert config.target == ""
    done = subprocess.run(
        [sys.executable, "-c", "import minidynamo as torch; torch.compile(abs)"],
        env={**os.environ, "MINIDYNAMO_TARGET": "sm_60"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and "RuntimeError: Unexpected target: there is no target 'sm_60'" in done.stderr


@pytest.mark.parametrize("name", ["sm_60", "", None, 90, "avx2"])
def test_unknown_targets(name):
    with pytest.raises(RuntimeError, match=r"there is no target .*; there are sm_75, .*, gfx1100$"):
        torch.compile(wanted, options={"target": name})
    with pytest.raises(RuntimeError, match="Unexpected optimization option"):
        torch.compile(wanted, options={"targets": "sm_90"})


def test_every_target_has_code():
    x = torch.rand(100)
    for target in TARGETS:
        assert refusal(target) is None
        (program,), _ = programs(lambda a: a.exp() + 1, x, options={"target": target})
        (kernel,) = program.kernels
        assert kernel.source.startswith("//" if target in PTX else "; ModuleID"), target


def test_gradients_are_a_program_of_their_own():
    x = torch.rand(8, 8, requires_grad=True)
    found, result = programs(lambda a: a.sin().exp(), x, options={"target": "sm_90"})
    assert [program.direction for program in found] == ["Forward", "Backward"]
    assert all(kernel.source for program in found for kernel in program.kernels)
    result.sum().backward()


def test_memory_is_named_once():
    def several(x):
        y = x.exp()
        z = y.sum(0)
        x.add_(1)
        return y, y[1], z.t(), x

    (program,), _ = programs(several, torch.rand(4, 5), options={"target": "sm_90"})
    outputs = program.given["outputs"]
    assert [o["memory"] for o in outputs] == ["output 0", "output 0", "output 2"]
    assert outputs[1]["shift"] == 5 and [o["bytes"] > 0 for o in outputs] == [True, False, True]
    assert any(a.get("of") == "input 0" for a in program.kernels[-1].arguments)


def test_sizes_that_vary_are_told():
    (program,), _ = programs(lambda x: x * 2, torch.rand(7, 9), dynamic=True, options={"target": "sm_90"})
    assert program.given["inputs"][-1]["sizes"] == [7, 9]
    assert any("size" in argument for argument in program.kernels[0].arguments)


def test_operations_are_their_own_launches():
    def several(x, at, long):
        return x @ x, torch.sort(long)[0], x[at]

    given = torch.rand(4, 4), torch.tensor([1, 3]), torch.rand(3000)  # too long for one block to sort
    (program,), _ = programs(several, *given, options={"target": "sm_90"})
    product = program.given["launches"][0]
    assert product["call"] == "aten::mm(l_x_, l_x_)" and [t["sizes"] for t in product["operands"]] == [[4, 4]]
    assert product["name"] == "aten::mm" and product["bytes"] == 2 * 64 and product["why"] == ""
    assert [a["of"] for a in product["arguments"] if a["kind"] == "buffer"].count("input 0") == 2
    kernel = program.kernels[0]
    assert kernel.entry == "product_f32" and f".entry {kernel.entry}" in kernel.text
    assert kernel.predicted["H100 SXM"]["occupancy"] == 0.5 and 0 < kernel.predicted["H100 SXM"]["share"] < 0.01
    assert "product_f32, for aten::mm(l_x_, l_x_)" in str(program)
    sort = [each for each in program.given["launches"] if each["name"] == "aten::sort"]
    assert len(sort) > 2 and len({each["call"] for each in sort}) == 1
    assert all(each.predicted == {} for each in program.kernels if each.name == "aten::sort")
    assert {a["of"] for each in sort for a in each["arguments"] if "of" in a} >= {"temporary 0", "temporary 1"}
    (gather,) = [each for each in program.given["launches"] if each["name"] == "aten::index"]
    assert [a["kind"] for a in gather["arguments"]].count("status") == 1


def test_numbers_that_look_like_addresses_are_numbers():
    (program,), _ = programs(
        lambda x: x @ x + torch.full((4, 4), (1 << 56) + (1 << 44)), torch.ones(4, 4, dtype=torch.int64),
        options={"target": "sm_90"},
    )  # fmt: skip
    (product,) = [each for each in program.given["launches"] if each["name"] == "aten::mm"]
    assert sum(a["kind"] == "buffer" for a in product["arguments"]) == 3


@pytest.mark.parametrize("target, level", [("sm_75", 75), ("sm_80", 80), ("sm_90", 80)])
def test_tensor_cores_are_those_of_the_target(target, level):
    x = torch.rand(64, 64, dtype=torch.float16)
    torch.backends.cuda.matmul.fold_order = "any"
    try:
        (program,), _ = programs(lambda a: a @ a, x, options={"target": target})
    finally:
        torch.backends.cuda.matmul.fold_order = "defined"
    (kernel,) = program.kernels
    assert kernel.entry.startswith("mma_product_") and kernel.entry.endswith(f"_f16_sm_{level}")
    assert f".target sm_{level}" in kernel.text


@pytest.mark.parametrize(
    "function, target, why",
    [
        (lambda x: x @ x, "gfx90a", "PTX only"),
        (lambda x: torch.linalg.svd(x)[1], "sm_90", "no part of the graph"),
        (lambda x: torch.rand_like(x) @ x, "sm_90", "the generator's state"),
    ],
)
def test_operations_without_kernels_say_so(function, target, why):
    (program,), _ = programs(function, torch.rand(4, 4), options={"target": target})
    (kernel,) = [each for each in program.kernels if each.why]
    assert kernel.text == "" and why in kernel.why and f"{kernel.name}: no kernel" in str(program)


def test_sizes_that_only_a_run_knows():
    (program,), _ = programs(lambda x: x[x > 0] * 2, torch.rand(4), options={"target": "sm_90"}, fullgraph=True)
    assert "sizes" in program.why and program.kernels == []


def test_the_log(caplog):
    torch._logging.set_logs(kernel_code=True)
    logger = logging.getLogger("minidynamo.__kernel_code")
    logger.addHandler(caplog.handler)
    try:
        programs(wanted, torch.rand(3, 4), torch.rand(3, 4), options={"target": "sm_90"})
    finally:
        logger.removeHandler(caplog.handler)
        torch._logging.set_logs()
    (text,) = {record.getMessage() for record in caplog.records if record.name == logger.name}
    assert text.startswith("GPU PROGRAM for sm_90\n ===== Forward graph of ") and ".visible .entry" in text
    assert "launch 1 of 1: fused_mul_add_sum: grid (" in text and "H100 SXM, predicted: " in text


def test_explain():
    compiled = torch.compile(wanted, options={"target": "sm_90"})
    out = torch._dynamo.explain(compiled)(torch.rand(3, 4), torch.rand(3, 4))
    assert [p.target for p in out.programs] == ["sm_90"] and "Program 1:\nGPU PROGRAM for sm_90" in str(out)
    assert torch._dynamo.explain(wanted)(torch.rand(3, 4), torch.rand(3, 4)).programs == []
    assert config.target == ""


# ---- the assembler, predictions ------------------------------------------------------------------------------------


def test_registers_are_those_ptxas_tells():
    (program,), _ = programs(wanted, torch.rand(30, 40), torch.rand(30, 40), options={"target": "sm_90"})
    kernel = program.kernels[0]
    assert 8 <= kernel.registers <= 64 and kernel.resources["spill_stores"] == 0
    with pytest.raises(assembler.CannotAssemble, match="nonsense"):
        assembler.assemble(kernel.text.replace("ret;", "nonsense;"), "sm_90")


def test_without_an_assembler(monkeypatch):
    monkeypatch.setattr(assembler, "ptxas", lambda: None)
    monkeypatch.setattr(assembler, "_llvm_tool", lambda name: None)
    (program,), _ = programs(wanted, torch.rand(3, 4), torch.rand(3, 4), options={"target": "sm_90"})
    assert program.kernels[0].registers is None and "registers" not in str(program)
    assert program.kernels[0].predicted["H100 SXM"]["occupancy"] > 0
    with pytest.raises(assembler.CannotAssemble, match="there is no ptxas"):
        assembler.assemble("", "sm_90")
    with pytest.raises(assembler.CannotAssemble, match="there is no llc"):
        assembler.code_object("", "gfx90a")


@pytest.mark.parametrize(
    ("block", "registers", "shared", "threads"),
    [
        (256, 32, 0, 2048),
        (1024, 32, 0, 2048),
        (1024, 33, 0, 1024),
        (256, 64, 0, 1024),
        (32, 16, 0, 1024),  # 32 blocks
        (128, 255, 0, 256),
        (256, 32, 100 << 10, 512),
        (256, 32, 300 << 10, 0),
        (2048, 32, 0, 0),
    ],
)
def test_threads_that_a_multiprocessor_holds(block, registers, shared, threads):
    assert cards.resident_threads(cards.CARDS[0], block, registers, shared) == threads


def test_predictions_follow_bytes_and_instructions():
    h100, rtx = cards.CARDS
    large = {"grid": [65536, 1, 1], "block": [256, 1, 1], "shared_bytes": 0, "bytes": 3 << 28}
    told = cards.predict(h100, large)
    assert told["share"] > 0.95 and abs(told["seconds"] - (3 << 28) / h100.copy_bandwidth - 2e-6) < 2e-5
    assert cards.predict(rtx, large)["seconds"] > 3 * told["seconds"]
    busy = {**large, "double_instructions": 1 << 36}
    assert cards.predict(h100, busy)["share"] < 0.5 and cards.predict(rtx, busy)["seconds"] > 0.1
    assert cards.predict(h100, {**large, "grid": [0, 1, 1]})["share"] == 0


# ---- objects for AMD -----------------------------------------------------------------------------------------------


def test_code_objects_of_amd(tmp_path):
    for target in ("gfx90a", "gfx1100"):
        (program,), _ = programs(lambda x: torch.softmax(x.sin(), 1), torch.rand(8, 100), options={"target": target})
        (kernel,) = program.kernels
        made = assembler.code_object(kernel.source, target)
        assert made[:4] == b"\x7fELF" and made[18:20] == b"\xe0\0"  # a GPU of AMD
        assert f"amdhsa_kernel {kernel.entry}" in kernel.text
        # The assembler reads the text back to the same instructions.
        read = tmp_path / f"{target}.o"
        command = [assembler._llvm_tool("llvm-mc"), "-triple=amdgcn-amd-amdhsa", f"-mcpu={target}", "-filetype=obj"]
        subprocess.run([*command, "-o", str(read)], input=kernel.text, text=True, check=True)
        linked = tmp_path / f"{target}.hsaco"
        linked.write_bytes(made)
        instructions = [mnemonics(path) for path in (read, linked)]
        assert instructions[0] == instructions[1] and "s_endpgm" in instructions[0] and len(instructions[0]) > 100


def mnemonics(path):
    """Of an object's instructions, by the disassembler."""
    command = [assembler._llvm_tool("llvm-objdump"), "-d", "--no-show-raw-insn", str(path)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in text.split("\n") if line.startswith("\t") and line.split()[0] != "s_code_end"]


# ---- the command ---------------------------------------------------------------------------------------------------


def ptx(folder, *words, program=PROGRAM):
    (folder / "program.py").write_text(program)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    return subprocess.run(
        [sys.executable, "-m", "minidynamo", "ptx", *words], cwd=folder, env=environment, capture_output=True,
        text=True, timeout=100,
    )  # fmt: skip


def test_files_to_launch_by_hand(tmp_path):
    done = ptx(tmp_path, "--target", "sm_80", "-o", "out", "program.py", "7")
    assert (done.returncode, done.stdout) == (7, "[8.0, 8.0, 8.0, 8.0, 8.0, 8.0]\n")
    assert "out: 2 graphs, " in done.stderr and "without a kernel" not in done.stderr
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert (manifest["version"], manifest["target"], manifest["command"]) == (1, "sm_80", ["program.py", "7"])
    forward, backward = manifest["graphs"]
    assert (forward["function"], forward["line"], forward["direction"]) == ("f", 5, "Forward")
    assert backward["direction"] == "Backward"
    (constant,) = forward["constants"]
    assert (tmp_path / "out" / constant["file"]).read_bytes() == bytes.fromhex("0000803f00004040")
    kernels = [manifest["kernels"][number] for number in forward["kernels"]]
    memories = {f"temporary {k}" for k in range(len(forward["temporaries"]))} | {
        t["memory"] for kind in ("inputs", "outputs", "constants") for t in forward[kind]
    }
    for kernel in kernels:
        assert {a["of"] for a in kernel["arguments"] if a["kind"] == "buffer"} <= memories
        assert kernel["entry"] in (tmp_path / "out" / kernel["file"]).read_text()
        assert len(kernel["grid"]) == len(kernel["block"]) == 3


def test_wrong_command_lines(tmp_path):
    for words, told in (
        (["--target", "sm_1", "program.py"], "there is no target 'sm_1'"),
        (["none.py"], "there is no file 'none.py'"),
        (["-o", "program.py", "program.py"], "-o program.py: "),
        ([], "usage: python -m minidynamo ptx"),
    ):
        done = ptx(tmp_path, *words)
        assert done.returncode == 2 and told in done.stderr and done.stdout == "", done.stderr


def test_a_program_without_graphs(tmp_path):
    done = ptx(tmp_path, "program.py", program="print(1)")
    assert (done.returncode, done.stdout) == (0, "1\n") and "The program compiled no graph." in done.stderr
    assert json.loads((tmp_path / "minidynamo-ptx/manifest.json").read_text())["graphs"] == []


def test_equal_code_is_one_file(tmp_path):
    launch = {
        "name": "fused/../x", "entry": "k", "text": "code", "why": "", "arguments": [], "grid": [1, 1, 1],
        "block": [1, 1, 1], "shared_bytes": 0, "bytes": 0, "instructions": 0, "double_instructions": 0,
    }  # fmt: skip
    program = {
        "target": "sm_90", "why": "", "inputs": [], "outputs": [], "constants": [], "temporaries": [8],
        "launches": [launch, launch, {**launch, "text": "other"}],
    }  # fmt: skip
    event = {"graph": "g", "direction": "Forward", "function": "<lambda>", "file": "f", "line": 1, "program": program}
    folder = Folder(tmp_path / "new/folder", "sm_90", ["x"])
    folder.add(event)
    assert folder.close() == (1, 3, 0)
    files = sorted(path.name for path in (tmp_path / "new/folder").iterdir())
    assert len(files) == 3 and all("/" not in name and not name.startswith(".") for name in files)
    kernels = json.loads((tmp_path / "new/folder/manifest.json").read_text())["kernels"]
    assert kernels[0]["file"] == kernels[1]["file"] != kernels[2]["file"]


def test_a_report_shows_them(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    command = [sys.executable, "-m", "minidynamo", "report", "--target", "sm_90", "program.py", "0"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "minidynamo-report.html").read_text()
    assert "On sm_90: " in page and ".visible .entry" in page and "H100 SXM, predicted" in page


def test_predictions_of_products_and_convolutions_follow_from_their_sizes():
    def several(a, b, x, w):
        return a @ b, torch.nn.functional.conv2d(x, w), (a @ b[:, 0]).double() @ a.double()

    given = torch.rand(512, 256), torch.rand(256, 512), torch.rand(4, 16, 34, 34), torch.rand(64, 16, 3, 3)
    (program,), _ = programs(several, *given, options={"target": "sm_90"})
    calls = [k for k in program.kernels if k.call and k.predicted]
    assert {k.entry.rpartition("_")[0] for k in calls} == {"product", "convolution_tiles"}
    product, convolution = calls[0], next(k for k in calls if k.entry.startswith("convolution"))
    # of 64 multiplications a cycle in each of 132 processors, 1.98 GHz: two instructions for each of them, and 2 us
    seconds = 512 * 512 * 256 / (132 * 1.98e9 * 64)
    assert seconds + 2e-6 <= product.predicted["H100 SXM"]["seconds"] < 3 * seconds + 2e-6
    assert convolution.predicted["H100 SXM"]["seconds"] > 4 * 32 * 32 * 64 * 16 * 9 / (132 * 1.98e9 * 64)
