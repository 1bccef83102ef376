"""Writes files.json, files by torch in base64: run by a Python that has torch. Tests read them without torch."""

import base64
import collections
import io
import json
import pathlib

import torch

HERE = pathlib.Path(__file__).parent
DTYPES = "float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool".split()


def values():
    memory = torch.arange(6.0)
    parameter = torch.nn.Parameter(torch.tensor([1.5, -2.0]))
    frozen = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    frozen.tag = "kept"
    found = {
        "memory": memory,
        "tail": memory[2:],
        "turned": memory.view(2, 3).t(),
        "spread": torch.ones(1).expand(4),
        "empty": torch.zeros(0, 3),
        "required": torch.ones(2, requires_grad=True),
        "parameters": [parameter, parameter, frozen],
        "facts": (torch.Size([2, 3]), torch.float16, torch.device("cpu")),
        "plain": collections.OrderedDict(z=(1, 2.5, None, "s", True, b"xy", 2**80), s={1, 2}, c=1j),
        "dtypes": {name: torch.tensor([1, 0, 3]).to(getattr(torch, name)) for name in DTYPES},
    }
    model = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.BatchNorm1d(1))
    with torch.no_grad():
        for each in model.parameters():
            each.copy_(torch.arange(float(each.numel())).view_as(each))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.tensor([[1.0, 2.0], [3.0, 5.0]])).square().sum().backward()
    optimizer.step()
    found["model"], found["optimizer"] = model.state_dict(), optimizer.state_dict()
    return found


def written(value, **options):
    file = io.BytesIO()
    torch.save(value, file, **options)
    return base64.b64encode(file.getvalue()).decode()


if __name__ == "__main__":
    layer = torch.nn.Linear(2, 1)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 2.0]]))
        layer.bias.fill_(3.0)
    kinds = {"sparse": torch.eye(2).to_sparse(), "meta": torch.zeros(2, 3, device="meta")}
    files = {
        "values.pt": written(values()),
        "values_before_1_6.pt": written(values(), _use_new_zipfile_serialization=False),
        "kinds.pt": written(kinds),
        "whole_model.pt": written(torch.nn.Sequential(layer, torch.nn.ReLU())),
    }
    (HERE / "files.json").write_text(json.dumps(files, indent=1) + "\n")
