"""Uses of safetensors.torch."""

import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model

LIBRARY = "safetensors"


def files_of_tensors() -> object:
    given = {"a": torch.randn(3, 4), "b": torch.arange(5), "c": torch.randn(4).to(torch.bfloat16)}
    save_file(given, "t.safetensors", metadata={"made": "here"})
    read = load_file("t.safetensors")
    with safe_open("t.safetensors", framework="pt") as file:
        part = file.get_slice("a")[1:, :2]
    return [read[k].float() for k in sorted(read)], part


def bytes_of_tensors() -> object:
    return load(save({"x": torch.randn(2, 2, dtype=torch.float64)}))["x"]


def models_with_shared_weights() -> object:
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    net[1].weight = net[0].weight
    save_model(net, "m.safetensors")
    other = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    other[1].weight = other[0].weight
    load_model(other, "m.safetensors")
    return other(torch.ones(1, 4))
