"""The runtime of GPUs as programs meet it: too little memory, forks, threads with streams, processes that end."""

import os
import subprocess
import sys
import textwrap

import pytest

from gpu.emulated_driver import LIBRARY


def run(program, **environment):
    """What a process of its own printed."""
    chosen = {"MINIDYNAMO_CUDA_DRIVER": str(LIBRARY), "MINIDYNAMO_EMULATOR_DEVICES": "sm_90:64M", **environment}
    done = subprocess.run(
        [sys.executable, "-c", "import minidynamo as torch\n" + textwrap.dedent(program)],
        env={**os.environ, **chosen},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0 and not done.stderr, (done.returncode, done.stdout, done.stderr)
    return done.stdout


def test_too_little_memory():
    assert (
        run("""
        held = torch.ones(1000).to("cuda")
        before = torch.cuda.memory_allocated()
        for _ in range(2):
            try:
                torch.empty(1 << 38, dtype=torch.uint8, device="cuda")
            except torch.OutOfMemoryError as e:
                assert str(e).startswith("CUDA out of memory. Tried to allocate 256.00 GiB. GPU 0 has a total"), e
                assert isinstance(e, RuntimeError) and torch.cuda.OutOfMemoryError is torch.OutOfMemoryError
            else:
                raise SystemExit("no error")
        parts = []
        try:
            while True:
                parts.append(torch.empty(5 << 20, dtype=torch.uint8, device="cuda"))
        except torch.OutOfMemoryError:
            n = len(parts)
            parts.clear()
        assert 8 <= n <= 12, n
        again = torch.empty(40 << 20, dtype=torch.uint8, device="cuda")  # what was kept of them is given up
        del again
        torch.cuda.empty_cache()
        assert torch.cuda.memory_allocated() == before
        print(held.cpu().sum().item())
        """)
        == "1000.0\n"
    )


def test_fork_after_first_use():
    assert (
        run("""
        import os
        held = torch.ones(10).to("cuda")
        child = os.fork()
        if child == 0:
            try:
                torch.ones(3).to("cuda")
            except RuntimeError as e:
                assert str(e).startswith("Cannot re-initialize CUDA in forked subprocess"), e
                assert (torch.ones(3) + 1).sum().item() == 6
                del held
                os._exit(7)
            os._exit(1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), held.cpu().sum().item())
        """)
        == "7 10.0\n"
    )


def test_a_driver_that_is_not_there():
    program = """
        print(torch.cuda.is_available(), torch.cuda.device_count())
        try:
            torch.ones(3).to("cuda")
        except (AssertionError, RuntimeError) as e:
            print(type(e).__name__)
        print((torch.ones(3) + 1).sum().item())
        """
    for driver in ("none", "/nowhere/libcuda.so"):
        assert run(program, MINIDYNAMO_CUDA_DRIVER=driver) == "False 0\nAssertionError\n6.0\n"
    for setting in ({"MINIDYNAMO_EMULATOR_VERSION": "11000"}, {"MINIDYNAMO_EMULATOR_FAULT": "cuInit=999"}):
        assert run(program, **setting) == "False 0\nAssertionError\n6.0\n"


@pytest.mark.parametrize(
    "setting, why",
    [
        ({"MINIDYNAMO_CUDA_DRIVER": "/nowhere.so"}, "/nowhere.so: cannot open shared object file"),
        (
            {"MINIDYNAMO_EMULATOR_VERSION": "9000"},
            "the NVIDIA driver is too old: it is for CUDA 9.0, and 12.0 or newer",
        ),
        ({"MINIDYNAMO_EMULATOR_WITHOUT": "cuLaunchKernel"}, "lacks functions that are needed: cuLaunchKernel"),
        ({"MINIDYNAMO_EMULATOR_DEVICES": "none"}, "there is no CUDA device"),
        ({"MINIDYNAMO_EMULATOR_FAULT": "cuInit=100"}, "cannot be initialized"),
    ],
)
def test_why_there_is_no_device(setting, why):
    said = run(
        """
        assert not torch.cuda.is_available() and torch.cuda.device_count() == 0
        calls = (
            lambda: torch.ones(2, device="cuda"),
            lambda: torch.ones(2).cuda(),
            lambda: torch.nn.Linear(2, 2).to("cuda"),
            lambda: torch.cuda.current_device(),
            lambda: torch.compile(lambda x: x.to("cuda") + 1)(torch.ones(2)),
        )
        for call in calls:
            try:
                call()
            except AssertionError as e:
                assert str(e).startswith("Torch not compiled with CUDA enabled"), e
                print(e)
        assert torch.compile(lambda x: x * 2)(torch.ones(2)).tolist() == [2, 2]
        """,
        **setting,
    )
    assert said.count(why) == 5, said


def test_threads_with_streams_of_their_own():
    assert (
        run(
            """
        import threading
        wrong = []
        def work(k):
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                for i in range(30):
                    x = torch.full((200 + 17 * i,), float(k * 100 + i))
                    y = x.to("cuda", non_blocking=True)
                    z = y.cpu()
                    if not torch.equal(x, z):
                        wrong.append((k, i))
        threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
        for t in threads: t.start()
        for t in threads: t.join()
        print(wrong, torch.cuda.memory_allocated())
        """,
            MINIDYNAMO_EMULATOR_DELAY="random",
        )
        == "[] 0\n"
    )


def test_pinned_memory_goes_while_a_copy_runs():
    assert (
        run(
            """
        there = torch.zeros(1 << 18).to("cuda")
        for i in range(5):
            x = torch.full((1 << 18,), float(i)).pin_memory()
            there.copy_(x, non_blocking=True)
            del x
            other = torch.full((1 << 18,), -1.0).pin_memory()
            assert there.cpu().sum().item() == i * (1 << 18), i
        print("well")
        """,
            MINIDYNAMO_EMULATOR_DELAY="random",
        )
        == "well\n"
    )


@pytest.mark.parametrize("where", ["held", "cycle", "thread"])
def test_processes_end_with_tensors_on_devices(where):
    program = {
        "held": "x = torch.ones(100).to('cuda'); e = torch.cuda.Event(); e.record(); print('end')",
        "cycle": "x = torch.ones(100).to('cuda'); l = [x]; l.append(l); del x, l; print('end')",
        "thread": """
            import threading
            def work():
                global x
                x = torch.ones(100).to("cuda", non_blocking=True)
            t = threading.Thread(target=work)
            t.start()
            t.join()
            print("end")
            """,
    }[where]
    assert run(program) == "end\n"


def test_an_error_that_lasts_names_kernel_and_line(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("def f(x):\n    y = x + 1\n    return y * 3\n")
    said = run(
        f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        import program
        torch._dynamo.config.background_compile = False
        x = torch.ones(10).to("cuda")
        y = torch.compile(program.f)(x)
        for _ in range(2):
            try:
                y.cpu()
            except torch.AcceleratorError as e:
                print(e)
        print((torch.ones(3) + 1).sum().item())
        """,
        MINIDYNAMO_EMULATOR_FAULT="cuStreamSynchronize:2=719",
    )
    first, second, third = said.splitlines()
    assert first.startswith("CUDA error: ") and "CUDA_ERROR_LAUNCH_FAILED" in first
    assert "The kernel launched last there is 'fused_" in first and f", for {program}:3" in first
    assert second.startswith("CUDA error: ") and third == "6.0"


def test_too_little_memory_in_the_middle_of_a_graph():
    assert (
        run(
            """
            def f(x):
                a = x.cumsum(0)
                b = a.flip(0).cumsum(0)
                return a.sort()[0] + b + x
            for background in (False, True):
                torch._dynamo.config.background_compile = background
                torch._dynamo.reset()
                g = torch.compile(f)
                x = torch.ones(300_000).to("cuda")
                before = torch.cuda.memory_allocated()
                try:
                    g(x)
                    raise SystemExit("there was room")
                except torch.OutOfMemoryError as e:
                    assert str(e).startswith("CUDA out of memory. Tried to allocate"), e
                    del e
                assert torch.cuda.memory_allocated() == before, (torch.cuda.memory_allocated(), before)
                small = torch.ones(1000)
                assert torch.equal(g(small.to("cuda")).cpu(), f(small))
                del x
            print("well")
            """,
            MINIDYNAMO_EMULATOR_DEVICES="sm_90:4M",
        )
        == "well\n"
    )
