"""Records which names torch has, for what is said of those that are not here. Needs torch; its answer is kept in
python/minidynamo/torch_names.json, so that nothing else does.

    python tools/torch_names.py
"""

import contextlib
import importlib
import inspect
import io
import json
import pathlib
import pkgutil
import warnings

import torch

PACKAGE = pathlib.Path(__file__).resolve().parents[1] / "python/minidynamo"
WALKED = (
    "_decomp",
    "_dynamo",
    "_functorch",
    "_inductor",
    "_higher_order_ops",
    "_logging",
    "_subclasses",
)  # of those with an underscore


def hidden(name):
    first, *rest = name.split(".")[1:]
    return any(part.startswith("_") for part in rest) or (rest and first.startswith("_") and first not in WALKED)


def modules_below(package):
    """Dotted names of its modules; what cannot be imported is named, not entered."""
    for found in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if hidden(found.name):
            continue
        yield found.name
        with contextlib.suppress(Exception):
            module = importlib.import_module(found.name)
            if found.ispkg and hasattr(module, "__path__"):
                yield from modules_below(module)


def kind_of(thing):
    if inspect.ismodule(thing):
        return "module"
    if inspect.isclass(thing):
        return "class"
    return "function" if callable(thing) else "name"


def names_of(owner):
    """{kind: names apart by blanks}."""
    kinds = {}
    for name in dir(owner):
        if not name.startswith("__"):
            kinds.setdefault(kind_of(getattr(owner, name, None)), []).append(name)
    return {kind: " ".join(names) for kind, names in sorted(kinds.items())}


def main():
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(io.StringIO()):
        modules = sorted(set(modules_below(torch)))
    names = {"torch": names_of(torch), "torch.Tensor": names_of(torch.Tensor)}
    for module in modules:
        place = PACKAGE.joinpath(*module.split(".")[1:])
        if place.with_suffix(".py").exists() or (place / "__init__.py").exists():
            names[module] = names_of(importlib.import_module(module))
    rows = [f'"version": "{".".join(torch.__version__.split(".")[:2])}"', f'"modules": "{" ".join(modules)}"']
    rows += [f'"{space}": {json.dumps(kinds)}' for space, kinds in names.items()]
    (PACKAGE / "torch_names.json").write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
