"""load_inline: C++ given as text, compiled, cached, loaded, refused with the compiler's words."""

import concurrent.futures
import os

import numpy as np
import pytest

import minidynamo as torch
from minidynamo.utils.cpp_extension import load_inline

SQUARE = """
torch::Tensor square_cpu(torch::Tensor input) {
    // the example of the reference page
    TORCH_CHECK(input.device().is_cpu(), "Input must be a CPU tensor");
    torch::Tensor output = torch::empty_like(input);
    float* input_data = input.data_ptr<float>();
    float* output_data = output.data_ptr<float>();
    int64_t numel = input.numel();
    for (int64_t i = 0; i < numel; i++) {
        output_data[i] = input_data[i] * input_data[i];
    }
    return output;
}
"""

MORE = """
#include <cmath>

std::tuple<torch::Tensor, int64_t> describe(const torch::Tensor& t, double scale, std::vector<int64_t> sizes,
                                            std::optional<torch::Tensor> extra, std::string name, bool flag) {
  TORCH_CHECK(t.dim() == 2, name, ": expected 2 dims, got ", t.sizes(), " of ", t.dtype());
  torch::Tensor out = torch::zeros(sizes, t.options());
  auto a = t.accessor<float, 2>();
  auto b = out.accessor<float, 2>();
  for (int64_t i = 0; i < t.size(0); ++i)
    for (int64_t j = 0; j < t.size(-1); ++j) b[i][j] = static_cast<float>(a[i][j] * scale) + (flag ? 1.0f : 0.0f);
  if (extra.has_value()) b[0][0] += extra->item<float>();
  return {out, t.stride(0)};
}

torch::Tensor twice(torch::Tensor t) {
  torch::Tensor x = t.contiguous(), out = torch::empty(t.sizes(), t.options());
  AT_DISPATCH_ALL_TYPES(t.scalar_type(), "twice", [&] {
    const scalar_t* from = x.data_ptr<scalar_t>();
    scalar_t* to = out.data_ptr<scalar_t>();
    for (int64_t i = 0; i < x.numel(); ++i) to[i] = from[i] * 2;
  });
  return out;
}

std::vector<torch::Tensor> made() {
  return {torch::ones({2, 3}), torch::full({2}, 7, torch::dtype(torch::kInt64)), torch::zeros_like(torch::ones({3}))};
}

void out_of_range(int64_t i) { throw std::out_of_range("no " + std::to_string(i)); }
"""


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    yield
    os.environ.pop("XDG_CACHE_HOME")
    if before is not None:
        os.environ["XDG_CACHE_HOME"] = before


def data(*shape):
    return torch.from_numpy(np.linspace(-1, 2, int(np.prod(shape)), dtype="float32").reshape(shape))


def test_the_example_of_the_page(capsys):
    module = load_inline("square_cpu_kernel", SQUARE, functions=["square_cpu"], verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[1/2] ") and lines[0].endswith("-c main.cpp -o main.o")
    assert lines[1].startswith("[2/2] ") and lines[1].endswith("-o square_cpu_kernel.so")
    x = data(3, 3)
    assert module.square_cpu(x).tolist() == (x * x).tolist()
    assert (module.square_cpu.__module__, module.square_cpu.__qualname__) == (
        "square_cpu_kernel",
        "PyCapsule.square_cpu",
    )

    def f(x):
        return module.square_cpu(x)

    with pytest.raises(torch._dynamo.exc.Unsupported, match="`square_cpu_kernel.PyCapsule.square_cpu`") as error:
        torch.compile(f, fullgraph=True)(x)
    assert error.value.gb_code == "GB0007"

    @torch.library.custom_op("pagelib::square", mutates_args=())
    def square(x: torch.Tensor) -> torch.Tensor:
        return module.square_cpu(x)

    @square.register_fake
    def _(x):
        return x.new_empty(x.size())

    g = torch.compile(lambda x: square(x) + 1, fullgraph=True)
    assert g(x).tolist() == (x * x + 1).tolist()
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        module.square_cpu(x.double())

    load_inline("square_cpu_kernel", SQUARE, functions=["square_cpu"], verbose=True)
    assert "built already" in capsys.readouterr().out


def test_types_of_arguments_and_results():
    m = load_inline("more_types", [MORE], functions=["describe", "twice", "made", "out_of_range"])
    x = data(2, 3)
    out, stride = m.describe(x.T, 2.0, [3, 2], torch.tensor([[4.0]]), "it", True)
    want = x.T * 2 + 1
    want[0, 0] += 4
    assert out.tolist() == want.tolist() and stride == 1
    for dtype in (torch.int64, torch.uint8, torch.float64):
        t = torch.arange(6).reshape(2, 3).to(dtype)
        assert m.twice(t.T).tolist() == (t.T * 2).tolist() and m.twice(t).dtype == dtype
    a, b, c = m.made()
    assert (a.tolist(), b.tolist(), c.tolist(), b.dtype) == ([[1.0] * 3] * 2, [7, 7], [0.0] * 3, torch.int64)
    with pytest.raises(RuntimeError, match=r"it: expected 2 dims, got \[3\] of Float"):
        m.describe(data(3), 1.0, [1, 1], None, "it", False)
    with pytest.raises(IndexError, match="no 5"):
        m.out_of_range(5)
    with pytest.raises(TypeError, match="expected a Tensor, got 'int'"):
        m.twice(3)
    with pytest.raises(TypeError, match="takes 1, got 2"):
        m.twice(x, x)
    with pytest.raises(RuntimeError, match="not implemented for 'Bool'"):
        m.twice(x > 0)


def test_a_module_block():
    source = SQUARE + 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("sq", &square_cpu, "squares"); }'
    m = load_inline("with_block", source)
    assert m.sq(data(2)).tolist() == (data(2) * data(2)).tolist()
    assert m.sq.__doc__ == "squares" and m.__name__ == "with_block"


def test_a_source_that_does_not_compile():
    with pytest.raises(RuntimeError, match="Error building extension 'broken'") as error:
        load_inline("broken", "int x;\ntorch::Tensor f(torch::Tensor t) { return t.nonsense(); }", functions=["f"])
    assert "broken: cpp_sources[0]:2:" in str(error.value) and "nonsense" in str(error.value)


def test_what_is_refused(monkeypatch):
    with pytest.raises(RuntimeError, match="CUDA"):
        load_inline("x", "", cuda_sources="__global__ void f() {}")
    with pytest.raises(ValueError, match="identifier"):
        load_inline("not-a-name", "")
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(RuntimeError, match="needs a C\\+\\+ compiler"):
        load_inline("no_compiler", SQUARE, functions="square_cpu")


def test_built_at_the_same_time():
    def build(_):
        return load_inline("together", SQUARE + "// once\n", functions=["square_cpu"]).square_cpu(data(2)).tolist()

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        results = list(pool.map(build, range(3)))
    assert results == [(data(2) * data(2)).tolist()] * 3


SOURCE = "torch::Tensor twice(torch::Tensor x) { return x; }"


def build(**more):
    return load_inline("twice_edges", SOURCE, functions=["twice"], **more)


def test_a_name_too_long_for_a_file_is_refused_before_building(tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", "false")
    for folder in (None, str(tmp_path / "new" / "folder")):
        for name in ("n" * 240, "n" * 5000, "ä" * 130):
            with pytest.raises(OSError, match="too long"):
                load_inline(name, SOURCE, functions=["twice"], build_directory=folder)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("where", ["folder", "above", "file", "link"])
def test_what_others_may_write_is_not_run(tmp_path, monkeypatch, where):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    build()
    made = next(tmp_path.rglob("twice_edges.so"))
    for path in (made, *made.parents[:4]):
        assert not path.stat().st_mode & 0o022, path
    if where == "link":
        made.rename(tmp_path / "elsewhere.so")
        made.symlink_to(tmp_path / "elsewhere.so")
    else:
        {"folder": made.parent, "above": made.parents[2], "file": made}[where].chmod(0o777)
    with pytest.raises(PermissionError, match="not run"):
        build()


def test_what_another_user_owns_is_not_run(tmp_path, monkeypatch):
    build(build_directory=str(tmp_path))
    if os.geteuid() == 0:  # what root owns, anybody runs
        os.chown(tmp_path, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(PermissionError, match="another user"):
        build(build_directory=str(tmp_path))
