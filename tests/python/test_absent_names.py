"""Names of torch that are not here, and names that torch has not either: what the errors say, wherever one asks."""

import copy
import importlib
import importlib.util
import inspect
import json
import os
import pathlib
import pickle
import subprocess
import sys

import pytest

import minidynamo as torch
from frontend.differential import same

PACKAGE = pathlib.Path(torch.__file__).parent
TABLE = json.loads((PACKAGE / "torch_names.json").read_text())
# Their names are settings.
CONFIG = ("minidynamo._dynamo.config", "minidynamo._functorch.config", "minidynamo._inductor.config")


def mirrored():
    """Our modules that torch has, too."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        name = ".".join(("minidynamo", *parts))
        if ".tensorboard" in name and not importlib.util.find_spec("tensorboard"):
            continue  # it needs that package
        if name.replace("minidynamo", "torch", 1) in ["torch", *TABLE["modules"].split()] and name not in CONFIG:
            yield name


MODULES = list(mirrored())


def message(call, kind):
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    return str(caught.value)


@pytest.mark.parametrize("name", MODULES)
def test_every_mirrored_module_says_it(name):
    module, space = importlib.import_module(name), name.replace("minidynamo", "torch", 1)
    text = message(lambda: module.xyzzy_plugh, AttributeError)
    assert text.startswith(f"module {name!r} has no attribute 'xyzzy_plugh' (torch 2.13 has no {space}.xyzzy_plugh")
    absent = (
        [n for kind in TABLE[space].values() for n in kind.split() if not hasattr(module, n)] if space in TABLE else []
    )
    for missing in absent[:3]:
        assert f"{space}.{missing}, a " in message(lambda: getattr(module, missing), AttributeError)  # noqa: B023


@pytest.mark.parametrize(
    "space, name, wanted",
    [
        ("", "package", "torch.package, a module of torch 2.13, is not part of minidynamo)"),
        ("", "hash_tensor", "torch.hash_tensor, a function of torch 2.13, is not part of minidynamo"),
        ("", "einsumm", "torch 2.13 has no torch.einsumm either; nearest: torch.einsum)"),
        ("", "Generatorr", "torch 2.13 has no torch.Generatorr either; nearest: torch.Generator)"),
        ("nn", "Lineer", "torch 2.13 has no torch.nn.Lineer either; nearest: torch.nn.Linear)"),
        ("nn.functional", "exp", "torch 2.13 has no torch.nn.functional.exp either; nearest: torch.exp)"),
        (
            "optim",
            "swap_in_optimizer_params_and_state",
            "torch.optim.swap_in_optimizer_params_and_state, a function of torch 2.13, is not part of minidynamo",
        ),
        ("utils", "bundled_inputs", "torch.utils.bundled_inputs, a module of torch 2.13, is not part of minidynamo"),
    ],
)
def test_what_is_said(space, name, wanted):
    module = importlib.import_module(f"minidynamo.{space}".rstrip("."))
    assert wanted in message(lambda: getattr(module, name), AttributeError)
    plain = f"cannot import name {name!r} from {module.__name__!r} ("
    text = message(lambda: exec(f"from {module.__name__} import {name}"), ImportError)
    assert text.startswith(plain) and wanted in text


@pytest.mark.parametrize(
    "statement, module, wanted",
    [
        ("import minidynamo.package", "minidynamo.package", "torch.package, a module of torch 2.13"),
        ("import minidynamo.contrib.deep as s", "minidynamo.contrib", "torch.contrib, a module"),
        (
            "from minidynamo.utils.bundled_inputs import f",
            "minidynamo.utils.bundled_inputs",
            "torch.utils.bundled_inputs",
        ),
        ("import minidynamo._lazy", "minidynamo._lazy", "torch._lazy, a module"),
        ("import minidynamo.nn.functionall", "minidynamo.nn.functionall", "nearest: torch.nn.functional)"),
        ("importlib.import_module('minidynamo.monitor')", "minidynamo.monitor", "torch.monitor, a module"),
    ],
)
def test_modules(statement, module, wanted):
    with pytest.raises(ModuleNotFoundError) as caught:
        exec(statement, {"importlib": importlib})
    text = str(caught.value)
    assert type(caught.value) is ModuleNotFoundError and caught.value.name == module
    assert text.startswith(f"No module named {module!r} (") and wanted in text


def test_who_only_asks_gets_an_answer():
    for owner in (torch, torch.nn, torch.linalg, torch.nn.functional):
        assert not hasattr(owner, "xyzzy") and getattr(owner, "xyzzy", 3) == 3
        assert inspect.getmodule(owner) is owner and copy.copy(owner.__name__)
    assert importlib.util.find_spec("minidynamo.package") is None
    assert importlib.util.find_spec("minidynamo.nn.functional") is not None
    with pytest.raises(ModuleNotFoundError):
        importlib.util.find_spec("minidynamo.package.importer")
    for dunder in ("__wrapped__", "__path__", "__all__", "__test__", "__foo__"):
        if not hasattr(torch.nn.functional, dunder):
            text = message(lambda: getattr(torch.nn.functional, dunder), AttributeError)  # noqa: B023
            assert text == f"module 'minidynamo.nn.functional' has no attribute '{dunder}'"


def test_circular_imports_find_modules_by_name(tmp_path, monkeypatch):
    with pytest.raises(ImportError):
        exec("from minidynamo import xyzzy")
    monkeypatch.setitem(sys.modules, "minidynamo.xyzzy", torch.nn)  # loaded, and not yet an attribute
    names = {}
    exec("from minidynamo import xyzzy", names)
    assert names["xyzzy"] is torch.nn


def test_the_error_is_an_ordinary_one():
    with pytest.raises(AttributeError) as caught:
        torch.einsumm  # noqa: B018
    error = caught.value
    assert error.name == "einsumm" and error.obj is torch
    assert "nearest: torch.einsum" in repr(error) and "nearest: torch.einsum" in f"{error}"
    for again in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(again) is AttributeError and str(again) == str(error)


def test_asking_is_cheap():
    """Neither the table nor rapidfuzz is read for hasattr()."""
    program = (
        "import sys, minidynamo as torch\n"
        "for owner in (torch, torch.nn, torch.linalg, torch._dynamo):\n"
        "    assert not hasattr(owner, 'xyzzy')\n"
        "assert 'rapidfuzz' not in sys.modules, 'imported'\n"
        "from minidynamo import _absent\n"
        "assert _absent._table.cache_info().misses == 0, 'read'\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )
    assert done.returncode == 0, done.stderr


def test_without_rapidfuzz_there_is_no_suggestion(monkeypatch):
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)
    text = message(lambda: torch.einsumm, AttributeError)
    assert text == "module 'minidynamo' has no attribute 'einsumm' (torch 2.13 has no torch.einsumm either)"


def test_compiled_code_sees_the_same():
    def asks(x):
        found = [hasattr(torch, "package"), hasattr(torch.linalg, "xyzzy"), getattr(torch.nn, "Lineer", None)]
        return x + len(found), found

    def fails(x):
        return torch.nn.functional.reluu(x + 1)

    def handles(x):
        try:
            return torch.optim.Muon(x)
        except AttributeError as error:
            return x + 1, str(error)

    def imports(x):
        try:
            from minidynamo.optim import Muon
        except ImportError as error:
            return x + 1, str(error), error.name
        return Muon

    for f in (asks, fails, handles, imports):
        same(f, lambda: (torch.ones(2),))


@pytest.mark.parametrize(
    "name, wanted",
    [
        ("hash_tensor", "torch.Tensor.hash_tensor, a function of torch 2.13, is not part of minidynamo"),
        ("dim_order", "torch.Tensor.dim_order, a function of torch 2.13, is not part of minidynamo"),
        ("grad_dtype", "torch.Tensor.grad_dtype, a name of torch 2.13, is not part of minidynamo"),
    ],
)
def test_names_of_tensors(name, wanted):
    class Own(torch.Tensor):
        pass

    x = torch.ones(2)
    assert message(lambda: getattr(x, name), AttributeError).startswith(f"'Tensor' object has no attribute '{name}' (")
    text = message(lambda: getattr(torch.Tensor, name), AttributeError)
    assert text.startswith(f"type object 'Tensor' has no attribute '{name}' (")
    assert "'Own' object" in message(lambda: getattr(x.as_subclass(Own), name), AttributeError)
    for owner in (x, torch.Tensor, Own, x.as_subclass(Own), torch.nn.Parameter(x)):
        assert wanted in message(lambda: getattr(owner, name), AttributeError)  # noqa: B023
        assert not hasattr(owner, name) and getattr(owner, name, 3) == 3 and name not in dir(owner)
    setattr(x, name, 5)
    assert getattr(x, name) == 5 and name in dir(x)

    class Has(torch.Tensor):
        pass

    setattr(Has, name, lambda self: 7)
    assert getattr(torch.ones(2).as_subclass(Has), name)() == 7 and name in dir(Has)


def test_dir_of_tensors_lists_what_there_is():
    x = torch.ones(2)
    for owner in (x, torch.Tensor, torch.nn.Parameter):
        names = dir(owner)
        assert (
            {"add", "shape", "__len__", "numpy"} <= set(names) and "to_mkldnn" not in names and names == sorted(names)
        )
    for name in dir(torch.Tensor):
        assert hasattr(torch.Tensor, name) or name == "__abstractmethods__", name
    assert isinstance(torch.Tensor, type) and type(torch.Tensor).__mro__[1] is type
    assert copy.deepcopy(torch.Tensor) is torch.Tensor is pickle.loads(pickle.dumps(torch.Tensor))


def test_compiled_code_sees_the_same_of_tensors():
    def asks(x):
        return x + 1, hasattr(x, "to_mkldnn"), hasattr(x * 2, "to_mkldnn"), getattr(x, "align_as", None)

    def of_class(x):
        return x + 1, hasattr(torch.Tensor, "to_mkldnn"), getattr(torch.Tensor, "grad_dtype", 3)

    def fails(x):
        return (x * 2).to_mkldnn()

    def fails_at_the_class(x):
        return torch.Tensor.to_mkldnn(x * 2)

    def handles(x):
        try:
            return x.align_as()
        except AttributeError as error:
            return x + 1, str(error)

    def unknown(x):
        return (x + 1).xyzzy

    for f in (asks, of_class, fails, fails_at_the_class, handles, unknown):
        same(f, lambda: (torch.ones(2),))
    same(asks, lambda: (torch.ones(2),), frames=1, breaks=[])


def test_nearest_names_are_torchs():
    """Files of this package are no names of torch's: torch has no torch.nn.module."""
    for space, module in (("torch", torch), ("torch.nn", torch.nn), ("torch._dynamo", torch._dynamo)):
        for name in dir(module):
            if inspect.ismodule(vars(module).get(name)) and f"{space}.{name}" not in TABLE["modules"].split():
                assert f"nearest: {space}.{name})" not in message(lambda: getattr(module, name + "e"), AttributeError)  # noqa: B023
    assert "nearest: torch.nn.functional)" in message(lambda: torch.nn.functionl, AttributeError)
