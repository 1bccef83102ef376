"""Programs that follow hints of GB0000 to GB0059."""

import decimal
import functools
import sys
import time
import types
import warnings

import numpy as np

import minidynamo as torch
from graph_breaks.hint_tables import after, before

config = torch._dynamo.config
X = functools.partial(torch.tensor, [1.0, 2.0, 4.0])


@after("GB0005", 1)
def text_in_python(compile):
    class Price(decimal.Decimal):
        def __str__(self):
            return "free"

    price = Price(0)
    return compile(lambda x: (x + 1, str(price)))(X())


@before("GB0007")
def skipped(compile):
    return compile(lambda x: x + len(torch._dynamo.list_backends()))(X())


@after("GB0007", 1)
def skipped_before(compile):
    count = len(torch._dynamo.list_backends())
    return compile(lambda x: x + count)(X())


@before("GB0007_builtin")
def c_function(compile):
    return compile(lambda x: x + 0 * time.get_clock_info("time").resolution)(X())


@after("GB0007_builtin", 1)
def c_function_outside(compile):
    resolution = time.get_clock_info("time").resolution
    return compile(lambda x: x + 0 * resolution)(X())


@torch.library.custom_op("gbhints::halved", mutates_args=())
def halved(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.asarray(x) / 2)


@halved.register_fake
def _(x):
    return torch.empty_like(x)


@after("GB0007_builtin", 2)
def c_function_as_operator(compile):
    return compile(lambda x: halved(x) + 1)(X())


@torch.compiler.allow_in_graph
def kept_whole(x):
    return x.sin() + len(bytes(3))


@after("GB0007_builtin", 2)
def c_function_kept_whole(compile):
    return compile(lambda x: kept_whole(x) + 1)(X())


@before("GB0007_numpy")
def numpy_form(compile):
    return compile(lambda x, a: x + np.packbits(a).sum())(X(), np.array([1, 0, 1], dtype=np.uint8))


@after("GB0007_numpy", 1)
def simpler_numpy_form(compile):
    return compile(lambda x, a: x + torch.from_numpy(np.sum(a, axis=0)))(X(), np.ones((2, 3), dtype=np.float32))


@after("GB0007_numpy", 2)
def numpy_outside(compile):
    total = int(np.packbits(np.array([1, 0, 1], dtype=np.uint8)).sum())
    return compile(lambda x: x + total)(X())


@before("GB0007_warning")
def warns(compile):
    @compile
    def f(x):
        warnings.warn("old", stacklevel=1)
        return x + 1

    return f(X())


@after("GB0007_warning", 1)
def warns_outside(compile):
    y = compile(lambda x: x + 1)(X())
    warnings.warn("old", stacklevel=1)
    return y


@after("GB0007_warning", 1)
def warns_later(compile):
    with config.patch(reorderable_logging_functions={warnings.warn}):
        return warns(compile)


@after("GB0014", 1)
def recurrent_outside(compile):
    cell = torch.nn.GRU(2, 2)
    state = cell(torch.ones(3, 2))[1].detach()
    return compile(lambda h: h.shape[0] * 2 + h * 0)(state)


@after("GB0022", 1)
def real_module(compile):
    module = types.ModuleType("gbhints_settings")
    module.rate = 3
    sys.modules["gbhints_settings"] = module

    @compile
    def f(x):
        import gbhints_settings

        return x * gbhints_settings.rate

    return f(X())


@after("GB0023", 1)
def lengths_and_elements(compile):
    @compile
    def f(x):
        ours, theirs = [1, 2], [1, 2]
        return x + 1 if len(ours) == len(theirs) and ours[0] == theirs[0] else x

    return f(X())


@after("GB0031", 1)
def plain_attribute_or_getattr(compile):
    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.shift = 1

        def __getattr__(self, name):
            return 3 if name == "factor" else super().__getattr__(name)

        def forward(self, x):
            return x * self.factor + self.shift

    return compile(Scaled())(X())


@after("GB0035", 1)
def bool_before_branch(compile):
    level = torch.ones(2)
    high = bool(level.sum() > 1)
    return compile(lambda x, high: x + 1 if high else x - 1)(X(), high)


@after("GB0036", 1)
def captured_size(compile):
    with config.patch(capture_dynamic_output_shape_ops=True):
        return compile(lambda x: x[x > 1].sum())(X())


@after("GB0037", 1)
def functions_of_torch(compile):
    return compile(lambda x: torch.where(x > 1, x, 0).max())(X())


@after("GB0038", 1)
def narrowed(compile):
    return compile(lambda x: torch.narrow(x, 0, 0, 2) + x[torch.arange(2) + 1])(X())


@after("GB0039", 1)
def marked_dynamic(compile):
    f = compile(lambda x: x * 2)
    with config.patch(recompile_limit=1):
        results = []
        for n in (2, 3, 4):
            x = torch.ones(n)
            torch._dynamo.mark_dynamic(x, 0)
            results.append(f(x))
        return results


@after("GB0039", 2)
def higher_limit(compile):
    f = compile(lambda x, times: x * times, dynamic=False)
    with config.patch(recompile_limit=3):
        return [f(X(), n) for n in (2, 3, 4)]


@after("GB0043", 1)
def any_operator_allowed(compile):
    with config.patch(only_allow_pt2_compliant_ops=False):
        return compile(lambda x: halved(x) * 2)(X())


@after("GB0056", 1)
def copied_into(compile):
    @compile
    def f(x):
        y = x + 1
        y.copy_(x * 10)
        return y

    return f(X())


@after("GB0057", 1)
def raises_an_exception(compile):
    @compile
    def f(x):
        try:
            raise ValueError("too long")
        except ValueError:
            return x[:2]

    return f(X())


@before("GB0059")
def hash_of_a_tensor(compile):
    return compile(lambda x: (x, hash(x)))(X())[0]


@before("GB0059_effect")
def prints(compile):
    @compile
    def f(x):
        print("step")
        return x + 1

    return f(X())


@after("GB0059_effect", 1)
def prints_outside(compile):
    y = compile(lambda x: x + 1)(X())
    print("step")
    return y


@after("GB0059_effect", 2)
def prints_later(compile):
    with config.patch(reorderable_logging_functions={print}):
        return prints(compile)


@before("GB0059_world")
def opens_a_file(compile):
    @compile
    def f(x):
        with open("/dev/null") as file:
            return x + len(file.read())

    return f(X())


@after("GB0059_world", 1)
def read_before(compile):
    with open("/dev/null") as file:
        size = len(file.read())
    return compile(lambda x: x + size)(X())


@before("GB0059_names")
def names_of_a_module(compile):
    return compile(lambda x: x + len(dir(time)))(X())


@after("GB0059_names", 1)
def names_before(compile):
    known = len(dir(time))
    return compile(lambda x: x + known + hasattr(time, "sleep"))(X())


@before("GB0059_code")
def code_as_data(compile):
    @compile
    def f(x):
        scope = {}
        exec("def twice(x): return x * 2", scope)
        return scope["twice"](x + 1)

    return f(X())


@after("GB0059_code", 1)
def code_as_data_before(compile):
    scope = {}
    exec("def twice(x): return x * 2", scope)
    twice = scope["twice"]
    return compile(lambda x: twice(x + 1))(X())


@after("GB0007", 2)
def entered_anyway(compile):
    def tripled(x):
        return x * 3

    function = torch._dynamo.dont_skip_tracing(tripled)
    return compile(lambda x: function(x) + 1)(X())


@after("GB0004", 1)
def deleted_without_getattribute(compile):
    class Base:
        def drop(self):
            del self.value

    class Box(Base):
        def drop(self):
            super().__delattr__("value")

    @compile
    def f(box, x):
        y = x + box.value
        box.drop()
        return y

    box = Box()
    box.value = 2
    return f(box, X()), hasattr(box, "value")


@after("GB0008", 1)
def method_of_its_own(compile):
    class Named:
        def title(self):
            return "name"

    return compile(lambda x: x + len(Named().title()))(X())


@after("GB0008", 2)
def forced_into(compile):
    @torch._dynamo.dont_skip_tracing
    def double(self, x):
        return x * 2

    class Doubles:
        apply = double

    return compile(lambda x: Doubles().apply(x))(X())


@after("GB0013", 1)
def handle_removed_outside(compile):
    w = torch.ones(3, requires_grad=True)
    handle = w.register_hook(lambda g: g * 2)
    y = compile(lambda w: (w * w).sum())(w)
    y.backward()
    handle.remove()
    return w.grad


@after("GB0015", 1)
def dense_before(compile):
    dense = torch.eye(3).to_sparse().to_dense()
    return compile(lambda x, m: m @ x)(X(), dense)


@after("GB0029", 1)
def hook_outside(compile):
    w = torch.ones(3, requires_grad=True)
    y = compile(lambda w: w * 3)(w)
    y.register_hook(lambda g: g * 2)
    y.sum().backward()
    return w.grad


@after("GB0032", 1)
def attribute_of_a_module(compile):
    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = 2

        def forward(self, x):
            return x * self.factor if "factor" in self.__dict__ else x

    return compile(Scaled())(X())


@after("GB0048", 1)
def identity_outside(compile):
    x = X()
    known = id(x)
    return compile(lambda x, same: x + 1 if same else x)(x, id(x) == known)


@after("GB0018", 1)
def plain_int_passed(compile):
    return compile(lambda x, n: x * n)(X(), 3)
