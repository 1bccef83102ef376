"""One code object over several globals: each function sees its own."""

import gc
import types
import weakref

import pytest

import minidynamo as torch

SHARED = compile(
    """
def broken(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * K

def breaks_in_a_call(x):
    global N
    print(end="")
    N = x.shape[0] * K
    return x * K

def makes_a_function(x):
    return (lambda y: y * K), x + 1
""",
    __file__,
    "exec",
)


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("name", ["broken", "breaks_in_a_call", "makes_a_function"])
def test_one_code_over_several_globals(name, backend):
    torch._dynamo.reset()
    spaces = [{"torch": torch, "K": k} for k in (1, 2)]
    exec(SHARED, spaces[0])
    function = spaces[0][name]
    for space in spaces:
        mine = types.FunctionType(function.__code__, space)
        compiled = torch.compile(mine, backend=backend)
        for callee in (mine, compiled, compiled):
            space.pop("N", None)
            value = callee(torch.ones(3))
            if name == "makes_a_function":
                assert value[0].__globals__ is space and value[0](10) == 10 * space["K"]
            else:
                assert value.tolist() == [(2 if name == "broken" else 1) * space["K"]] * 3
            assert name != "breaks_in_a_call" or space["N"] == 3 * space["K"]


INLINED = compile(
    """
def reads(x):
    return x * K + helper(x)

def helper(x):
    return x - K

def yields(x):
    for k in range(2):
        yield x * K + k

def makes(x):
    return [lambda y: y * K][0](x)

class Maker:
    def reads(self, x):
        return x * K

def method(x):
    return Maker().reads(x)
""",
    __file__,
    "exec",
)


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("name", ["reads", "yields", "makes", "method"])
def test_inlined_code_over_several_globals(name, backend):
    spaces = [{"K": k} for k in (1, 2, 3)]
    for space in spaces:
        exec(INLINED, space)

    def calls(x, *functions):
        return [list(f(x)) if name == "yields" else f(x) for f in functions]

    torch._dynamo.reset()
    compiled = torch.compile(calls, backend=backend)
    for order in ((0, 1), (1, 0), (0, 2), (2, 2), (0, 1)):
        functions = [spaces[i][name] for i in order]
        assert str(compiled(torch.ones(3), *functions)) == str(calls(torch.ones(3), *functions))
    spaces[1]["K"] = 7
    assert str(compiled(torch.ones(3), spaces[0][name], spaces[1][name])) == str(
        calls(torch.ones(3), spaces[0][name], spaces[1][name])
    )


@pytest.mark.parametrize("name", ["broken", "breaks_in_a_call", "makes_a_function"])
def test_compiled_code_does_not_keep_its_namespace(name):
    class Held:
        pass

    space = {"torch": torch, "K": 1, "held": Held()}
    exec(SHARED, space)
    # A code object of its own: entries hang on it.
    space[name] = types.FunctionType(space[name].__code__.replace(co_firstlineno=1000), space)
    torch.compile(space[name], backend="eager")(torch.ones(3))
    gone = weakref.ref(space["held"])
    del space
    gc.collect()
    assert gone() is None
