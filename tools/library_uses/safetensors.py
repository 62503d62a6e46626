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


def every_dtype() -> object:
    names = """float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool uint16 uint32 uint64
        float8_e4m3fn float8_e5m2""".split()
    save_file({n: torch.arange(6).to(getattr(torch, n)) for n in names}, "t.safetensors")
    read = load_file("t.safetensors")
    return [[read[n].dtype == getattr(torch, n), *read[n].double().tolist()] for n in names]


def what_is_refused() -> object:
    w, told = torch.ones(3, 3), []
    for given in ({"a": w, "b": w}, {"a": w[:, :2]}, {"a": w.to_sparse()}, {"a": 3}, {"a": w}):
        try:
            save_file(given, "t.safetensors")
            told.append("")
        except Exception as error:
            told.append(type(error).__name__)
    return [told.index(name) for name in told]
