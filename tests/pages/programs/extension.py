# logs:
import os
import tempfile
import warnings

os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()
import minidynamo as torch  # noqa: E402
from minidynamo.utils.cpp_extension import load_inline  # noqa: E402

SOURCE = """
torch::Tensor tripled_cpu(torch::Tensor input) {
  TORCH_CHECK(input.device().is_cpu(), "tripled_cpu() takes tensors on the CPU");
  torch::Tensor output = torch::empty_like(input);
  const float* from = input.data_ptr<float>();
  float* to = output.data_ptr<float>();
  for (int64_t i = 0; i < input.numel(); i++) to[i] = 3 * from[i];
  return output;
}
"""
module = load_inline(name="tripled_kernel", cpp_sources=SOURCE, functions=["tripled_cpu"])


def tripled(x):
    return module.tripled_cpu(x)


@torch.compile(backend="eager", fullgraph=True)
def f(x):
    return tripled(x)


with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        f(torch.ones(2, 2))
    except torch._dynamo.exc.Unsupported as e:
        print(e)
print(caught[0].category.__name__, caught[0].message)


@torch.library.custom_op("pages::tripled", mutates_args=())
def tripled(x: torch.Tensor) -> torch.Tensor:  # noqa: F811
    return module.tripled_cpu(x)


@tripled.register_fake
def _(x):
    return x.new_empty(x.size())


print(f(torch.ones(2, 2)))
