"""What torch.cuda, torch.accelerator and their kin answer where there are two devices."""

import tempfile
import threading
import warnings

from programs_support import raises

import minidynamo as torch
from minidynamo._targets import PTX


def devices():
    assert torch.cuda.is_available() and torch.cuda.device_count() == 2 and torch.cuda.current_device() == 0
    assert torch.cuda.is_initialized() and torch.cuda.init() is None
    torch.cuda.set_device("cuda:1")
    assert torch.cuda.current_device() == 1
    torch.cuda.set_device(0)
    with torch.cuda.device(1):
        assert torch.cuda.current_device() == 1 and torch.ones(1, device="cuda").device.index == 1
        with torch.cuda.device_of(torch.ones(1, device="cuda:0")):
            assert torch.cuda.current_device() == 0
        with torch.cuda.device(-1), torch.cuda.device(None), torch.cuda.device_of(torch.ones(1)):
            assert torch.cuda.current_device() == 1
    assert torch.cuda.current_device() == 0
    with raises(ValueError, "cuda device"):
        torch.cuda.set_device("cpu")
    with raises(RuntimeError, "invalid device ordinal"):
        torch.cuda.set_device(9)
    seen = []
    with torch.cuda.device(1):
        thread = threading.Thread(target=lambda: seen.append(torch.cuda.current_device()))
        thread.start()
        thread.join()
    assert seen == [0]


def facts():
    found = torch.cuda.get_device_properties(0)
    assert (found.major, found.minor) == torch.cuda.get_device_capability("cuda:0") == (9, 0)
    assert torch.cuda.get_device_capability(1) == (8, 0)
    assert found.name == torch.cuda.get_device_name() and found.total_memory > 0 and found.multi_processor_count > 0
    assert repr(found).startswith("_CudaDeviceProperties(name=") and found.warp_size == 32
    assert torch.cuda.is_bf16_supported() and torch.cuda.is_tf32_supported()
    assert torch.cuda.get_arch_list() == list(PTX) and "code=sm_120" in torch.cuda.get_gencode_flags()
    assert torch.cuda.can_device_access_peer(0, 1) in (True, False)
    with raises(ModuleNotFoundError, "pynvml"):
        torch.cuda.utilization()


def memory():
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    x = torch.zeros(1 << 18, device="cuda")
    assert torch.cuda.memory_allocated() - before >= 1 << 20
    assert torch.cuda.max_memory_allocated() >= torch.cuda.memory_allocated() <= torch.cuda.memory_reserved()
    assert torch.cuda.max_memory_reserved("cuda:0") >= torch.cuda.memory_reserved(0)
    stats = torch.cuda.memory_stats()
    assert stats["allocated_bytes.all.current"] == torch.cuda.memory_allocated()
    assert torch.cuda.memory_stats_as_nested_dict()["num_ooms"] >= 0
    del x
    assert torch.cuda.memory_allocated() == before
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == before
    reserved = torch.cuda.memory_reserved()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() < reserved
    free, total = torch.cuda.mem_get_info()
    assert 0 < free <= total
    assert "cuda:0" in torch.cuda.memory_summary() and torch.cuda.memory_summary(abbreviated=True)
    with raises(TypeError, "float"):
        torch.cuda.set_per_process_memory_fraction(1)
    with raises(ValueError, "Allowed range: 0~1"):
        torch.cuda.set_per_process_memory_fraction(1.5)


def too_little_memory():
    before = torch.cuda.memory_allocated()
    with raises(torch.cuda.OutOfMemoryError, "CUDA out of memory. Tried to allocate 16.00 GiB"):
        torch.empty(1 << 34, dtype=torch.uint8, device="cuda")
    assert torch.cuda.OutOfMemoryError is torch.OutOfMemoryError and issubclass(torch.OutOfMemoryError, RuntimeError)
    assert torch.cuda.memory_allocated() == before and torch.ones(2, device="cuda").tolist() == [1, 1]
    torch.cuda.set_per_process_memory_fraction(0.25, 1)
    try:
        with raises(torch.OutOfMemoryError, "CUDA out of memory"):
            torch.empty(1 << 29, dtype=torch.uint8, device="cuda:1")
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0, 1)
    assert torch.cuda.get_per_process_memory_fraction(1) == 1.0


def streams():
    first = torch.cuda.default_stream()
    assert torch.cuda.current_stream() == first and first.device.index == 0 and first.query() in (True, False)
    side = torch.cuda.Stream()
    assert side != first and hash(side) != hash(first) and "cuda_stream=0x" in repr(side)
    with torch.cuda.stream(side):
        assert torch.cuda.current_stream() == side
        x = torch.ones(1000, device="cuda")
        with torch.cuda.stream(None):
            assert torch.cuda.current_stream() == side
    assert torch.cuda.current_stream() == first
    with side:
        assert torch.cuda.current_stream() == side
    first.wait_stream(side)
    x.record_stream(first)
    assert (x + 1).sum().item() == 2000
    side.synchronize()
    assert side.query()
    torch.cuda.set_stream(side)
    assert torch.cuda.current_stream() == side
    torch.cuda.set_stream(first)
    other = torch.cuda.Stream(1, priority=-1)
    with torch.cuda.stream(other):
        assert torch.cuda.current_device() == 1
    assert torch.cuda.current_device() == 0 and other.priority <= 0
    mine = torch.cuda.ExternalStream(side.cuda_stream)
    assert mine.cuda_stream == side.cuda_stream
    with torch.cuda.stream(mine):
        assert torch.ones(2, device="cuda").tolist() == [1, 1]
    assert torch.cuda.Stream.priority_range()[0] >= torch.cuda.Stream.priority_range()[1]


def events():
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    assert begin.query() and begin.device is None and "uninitialized" in repr(begin)
    with raises(ValueError, "must be recorded"):
        begin.elapsed_time(end)
    begin.record()
    x = torch.ones(100, device="cuda") + 1
    end.record()
    end.synchronize()
    assert end.query() and begin.elapsed_time(end) >= 0 and x.sum().item() == 200
    with raises(ValueError, "enable_timing"):
        torch.cuda.Event().elapsed_time(end)
    side = torch.cuda.Stream()
    point = torch.cuda.current_stream().record_event()
    side.wait_event(point)
    point.wait(side)
    assert point.device == torch.device("cuda:0")
    with raises(RuntimeError, "does not match"):
        point.record(torch.cuda.Stream(1))


def graphs():
    x = torch.arange(4.0, device="cuda")
    y = x * 2 + 1
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with raises(RuntimeError, "without a preceding successful capture"):
        captured.replay()
    assert not torch.cuda.is_current_stream_capturing()
    with torch.cuda.graph(captured):
        assert torch.cuda.is_current_stream_capturing()
        y = x * 2 + 1
    captured.replay()
    assert y.tolist() == [1, 3, 5, 7]
    x.copy_(torch.tensor([9.0, 8, 7, 6]))
    captured.replay()
    assert y.tolist() == [19, 17, 15, 13]
    captured.reset()
    with raises(RuntimeError, "non-default stream"):
        torch.cuda.CUDAGraph().capture_begin()


def graphed_callables():
    model = torch.nn.Linear(4, 3).cuda()
    plain = torch.nn.Linear(4, 3).cuda()
    plain.load_state_dict(model.state_dict())
    sample = torch.randn(2, 4, device="cuda", requires_grad=True)
    graphed = torch.cuda.make_graphed_callables(model, (sample,))
    for _ in range(2):
        x = torch.randn(2, 4, device="cuda")
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        model.zero_grad(), plain.zero_grad()
        one, other = graphed(a), plain(b)
        one.sum().backward()
        other.sum().backward()
        assert one.tolist() == other.tolist() and a.grad.tolist() == b.grad.tolist()
        assert model.weight.grad.tolist() == plain.weight.grad.tolist()


def accelerators():
    assert torch.accelerator.is_available() and torch.accelerator.device_count() == 2
    assert torch.accelerator.current_accelerator() == torch.device("cuda")
    assert torch.accelerator.current_device_index() == 0
    torch.accelerator.set_device_index(1)
    assert torch.cuda.current_device() == 1
    torch.accelerator.set_device_index(0)
    with torch.accelerator.device_index(1):
        assert torch.accelerator.current_device_index() == 1
    assert torch.accelerator.current_device_index() == 0
    torch.accelerator.synchronize()
    assert torch.accelerator.current_stream() == torch.cuda.current_stream()
    assert torch.accelerator.memory_allocated() == torch.cuda.memory_allocated()
    torch.accelerator.empty_cache()
    torch.accelerator.empty_host_cache()
    assert torch.float16 in torch.accelerator.get_device_capability()["supported_dtypes"]


def other_modules():
    assert torch.backends.cuda.is_built()
    torch.cuda.nvtx.range_push("a")
    with torch.cuda.nvtx.range("b {}", 3):
        torch.cuda.nvtx.mark("c")
    assert torch.cuda.nvtx.range_pop() == 0
    assert len(torch.cuda.default_generators) == 2 and torch.cuda.get_sync_debug_mode() == 0
    assert not torch.cuda.amp.common.amp_definitely_not_available()
    with raises(RuntimeError, "cuBLAS"):
        torch.cuda.current_blas_handle()
    assert torch.get_device_module("cuda") is torch.cuda


def mixed_precision():
    x, w = torch.randn(4, 4), torch.randn(4, 4)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        there = x.cuda() @ w.cuda()
        assert torch.is_autocast_enabled("cuda")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        here = x @ w
    assert there.dtype == torch.bfloat16 and there.tolist() == here.tolist()
    model = torch.nn.Linear(4, 1).cuda()
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cuda")
    assert scaler.is_enabled()
    scaler.scale(model(x.cuda()).sum()).backward()
    before = model.weight.tolist()
    scaler.step(optimizer)
    scaler.update()
    assert model.weight.tolist() != before and scaler.get_scale() == 2.0**16


def numbers_are_devices():
    x = torch.ones(2)
    for made in (
        x.to(0),
        x.cuda(0),
        torch.ones(2, device=0),
        torch.tensor([1.0, 1.0], device=0),
        x.new_ones(2, device=0),
        torch.nn.Linear(2, 2).to(0).weight,
        torch.nn.Linear(2, 2, device=0).weight,
        torch.compile(lambda x: x.to(0) + torch.zeros(2, device=0), fullgraph=True)(x),
    ):
        assert made.device == torch.device("cuda:0")
    assert torch.device(0) == torch.device("cuda", 0) and torch.ones(1, device=1).get_device() == 1
    for call in (lambda: torch.device(-1), lambda: x.to(-1), lambda: torch.ones(1, device=-1)):
        with raises(RuntimeError, "must not be negative"):
            call()
    for call in (lambda: torch.ones(1, device=2), lambda: torch.device(1 << 70), lambda: x.to(1 << 40)):
        with raises(RuntimeError, "invalid device ordinal"):
            call()


EXTENSION = """
std::string place(torch::Tensor t) {
  std::ostringstream out;
  out << t.device() << " " << t.is_cuda() << t.is_cpu() << " " << t.get_device() << " " << t.options().device();
  return out.str();
}
torch::Tensor like(torch::Tensor t) { return torch::empty_like(t); }
torch::Tensor zeros(torch::Tensor t) { return torch::zeros_like(t); }
torch::Tensor cloned(torch::Tensor t) { return t.clone(); }
double first(torch::Tensor t) { return static_cast<double>(t.accessor<float, 1>()[0]); }
double number(torch::Tensor t) { return t.item<double>(); }
int64_t address(torch::Tensor t) { return reinterpret_cast<int64_t>(t.data_ptr<float>()); }
torch::Tensor made(int64_t device) {
  return torch::empty({2}, torch::dtype(torch::kFloat).device(torch::Device(torch::kCUDA, static_cast<int>(device))));
}
"""


def cpp_extensions():
    """They see where a tensor is, and read elements of the CPU alone."""
    from minidynamo.utils.cpp_extension import load_inline

    names = ["place", "like", "zeros", "cloned", "first", "number", "address", "made"]
    with tempfile.TemporaryDirectory() as folder:
        module = load_inline("places", EXTENSION, functions=names, build_directory=folder)
    x = torch.ones(1)
    assert module.place(x) == "cpu 01 -1 cpu" and module.place(x.cuda(1)) == "cuda:1 10 1 cuda:1"
    assert module.like(x.cuda(1)).device == torch.device("cuda:1") and module.made(1).get_device() == 1
    assert module.address(x.cuda()) != 0 and module.number(x) == module.first(x) == 1
    for function in (module.zeros, module.cloned, module.first, module.number):
        with raises(RuntimeError, "the tensor is on cuda:0; copy it to the CPU first"):
            function(x.cuda())
    with raises(RuntimeError, "invalid device ordinal"):
        module.made(7)


def types_name_devices():
    """Tensors of a type are where the type says, whatever the default device is."""
    for default in ("cpu", "cuda"):
        with torch.device(default):
            assert (
                torch.FloatTensor([1]).is_cpu
                and torch.Tensor(2).is_cpu
                and torch.UntypedStorage(4).device.type == "cpu"
            )
            assert torch.cuda.FloatTensor(2).is_cuda and torch.cuda.LongTensor([3]).tolist() == [3]
            assert torch.cuda.FloatTensor(2, device="cuda:1").get_device() == 1
            with raises(RuntimeError, "expects device type: cpu but device type: cuda was passed"):
                torch.FloatTensor(2, device="cuda")
            with raises(RuntimeError, "expects device type: cuda but device type: cpu was passed"):
                torch.cuda.FloatTensor(2, device="cpu")


def old_names():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert torch.cuda.memory_cached() == torch.cuda.memory_reserved()
        assert torch.cuda.max_memory_cached(0) == torch.cuda.max_memory_reserved(0)
    assert [w.category for w in seen] == [FutureWarning] * 2 and seen[0].filename == __file__
