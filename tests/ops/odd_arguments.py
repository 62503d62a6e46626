"""Odd arguments for optimisers, schedules, layers, loaders and samplers, beside PyTorch; `python tests/ops/odd_arguments.py` searches."""

from __future__ import annotations

import importlib
import inspect
import math
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import rushlight

# What somebody may pass by mistake, or because it came out of a file: text that is evaluated in each library.
ODD = """
-1|0|-0.5|1.5|1e30|10**20|math.nan|math.inf|True|False|None|'1'|''|[]|()|{}|(1,)|(0.5, 0.5)|[2, 2]|(1, 2, 3)|object()|np.float64(0.5)|np.float32(0.25)
np.int64(2)|np.array([1.0, 2.0])|np.bool_(True)|torch.tensor(0.5)|torch.tensor([0.5])|torch.tensor([1.0, 2.0])|torch.tensor(2)|torch.tensor(True)|1j|b'a'|int|lambda *a: 1
(-1, 0.9)|(math.nan, 0.9)|(0.9, 1.0)|('a', 'b')|(None, None)|(0.9,)|'mean'|'zeros'|torch.float64|'cpu'|2|3|0.25
""".replace("\n", "|").strip("|").split("|")  # fmt: skip
SLOW = 1.0  # seconds of the processor for one call in one library


def _params(lib: Any) -> list[Any]:
    return [lib.nn.Parameter(lib.tensor([[1.0, -2.0], [0.5, 3.0]]))]


def _optimizer(lib: Any, name: str, given: dict[str, Any]) -> Any:
    params = _params(lib)
    chosen = getattr(lib.optim, name)(given.pop("params", params), **given)

    def closure() -> Any:
        chosen.zero_grad()
        loss = (params[0] ** 2).sum()
        loss.backward()
        return loss

    for _ in range(3):
        chosen.step(closure)
    return params[0].detach().tolist(), [{k: v for k, v in g.items() if k != "params"} for g in chosen.param_groups]


def _schedule(lib: Any, name: str, given: dict[str, Any]) -> Any:
    optimizer = lib.optim.SGD(_params(lib), lr=0.5, momentum=0.9)
    schedule = getattr(lib.optim.lr_scheduler, name)(given.pop("optimizer", optimizer), **given)
    rates = []
    for i in range(6):
        optimizer.step()
        schedule.step(*([1.0 + i % 2] if name == "ReduceLROnPlateau" else []))
        rates.append((optimizer.param_groups[0]["lr"], optimizer.param_groups[0]["momentum"]))
    return rates


def _layer(lib: Any, name: str, given: dict[str, Any]) -> Any:
    lib.manual_seed(0)
    made = getattr(lib.nn, name)(**given)
    shapes = [(n, tuple(p.shape), str(p.dtype).split(".")[1], p.requires_grad) for n, p in made.named_parameters()]
    shapes += [(n, tuple(b.shape), str(b.dtype).split(".")[1]) for n, b in made.named_buffers()]
    return repr(made), shapes, made.training


def _loader(lib: Any, name: str, given: dict[str, Any]) -> Any:
    data = lib.utils.data
    lib.manual_seed(0)
    given.setdefault("dataset", list(range(7)))
    loader = data.DataLoader(**given)
    return len(loader), list(loader)


def _sampler(lib: Any, name: str, given: dict[str, Any]) -> Any:
    lib.manual_seed(0)
    made = getattr(lib.utils.data, name)(**given)
    length = len(made)
    return length, [x for _, x in zip(range(50), made)]


def _dataset(lib: Any, name: str, given: dict[str, Any]) -> Any:
    lib.manual_seed(0)
    made = getattr(lib.utils.data, name)(**given)
    if name == "random_split":
        return [list(part) for part in made]
    return len(made), [made[i] for i in range(min(len(made), 3))], made[-1]


OPTIMIZERS = {
    n: {} for n in ("Adam AdamW Adamax NAdam RAdam RMSprop Adagrad Adadelta Rprop ASGD Adafactor Muon LBFGS").split()
}
OPTIMIZERS["SGD"] = {"lr": "0.1"}
SCHEDULES = {
    "StepLR": {"step_size": "2"}, "MultiStepLR": {"milestones": "[2, 4]"}, "ExponentialLR": {"gamma": "0.5"}, "ConstantLR": {},
    "LinearLR": {}, "PolynomialLR": {}, "CosineAnnealingLR": {"T_max": "4"}, "CosineAnnealingWarmRestarts": {"T_0": "2"},
    "CyclicLR": {"base_lr": "0.1", "max_lr": "0.5"}, "OneCycleLR": {"max_lr": "0.5", "total_steps": "10"}, "ReduceLROnPlateau": {},
    "LambdaLR": {"lr_lambda": "lambda e: 0.5"}, "MultiplicativeLR": {"lr_lambda": "lambda e: 0.5"},
}  # fmt: skip
_CONV, _POOL = {"in_channels": "2", "out_channels": "4", "kernel_size": "3"}, {"kernel_size": "2"}
_WIDE, _RNN = {"input_size": "2", "hidden_size": "3"}, {"input_size": "2", "hidden_size": "3"}
LAYERS: dict[str, dict[str, str]] = {
    "Linear": {"in_features": "3", "out_features": "2"}, "Bilinear": {"in1_features": "2", "in2_features": "3", "out_features": "2"},
    "LazyLinear": {"out_features": "2"}, "Embedding": {"num_embeddings": "5", "embedding_dim": "2"},
    "EmbeddingBag": {"num_embeddings": "5", "embedding_dim": "2"}, "Conv1d": _CONV, "Conv2d": _CONV, "Conv3d": _CONV,
    "ConvTranspose1d": _CONV, "ConvTranspose2d": _CONV, "ConvTranspose3d": _CONV, "LazyConv2d": {"out_channels": "4", "kernel_size": "3"},
    "MaxPool1d": _POOL, "MaxPool2d": _POOL, "AvgPool1d": _POOL, "AvgPool2d": _POOL, "AvgPool3d": _POOL, "MaxUnpool2d": _POOL,
    "LPPool2d": {"norm_type": "2", "kernel_size": "2"}, "FractionalMaxPool2d": {"kernel_size": "2", "output_size": "2"},
    "AdaptiveAvgPool2d": {"output_size": "2"}, "AdaptiveMaxPool1d": {"output_size": "2"}, "BatchNorm1d": {"num_features": "3"},
    "BatchNorm2d": {"num_features": "3"}, "SyncBatchNorm": {"num_features": "3"}, "InstanceNorm2d": {"num_features": "3"},
    "GroupNorm": {"num_groups": "2", "num_channels": "4"}, "LayerNorm": {"normalized_shape": "3"}, "RMSNorm": {"normalized_shape": "3"},
    "LocalResponseNorm": {"size": "2"}, "Dropout": {}, "Dropout2d": {}, "AlphaDropout": {}, "FeatureAlphaDropout": {}, "RNN": _RNN, "LSTM": _RNN, "GRU": _RNN,
    "RNNCell": _WIDE, "LSTMCell": _WIDE, "GRUCell": _WIDE, "MultiheadAttention": {"embed_dim": "4", "num_heads": "2"},
    "TransformerEncoderLayer": {"d_model": "4", "nhead": "2", "dim_feedforward": "4"},
    "TransformerDecoderLayer": {"d_model": "4", "nhead": "2", "dim_feedforward": "4"},
    "Transformer": {"d_model": "4", "nhead": "2", "num_encoder_layers": "1", "num_decoder_layers": "1", "dim_feedforward": "4"},
    "Flatten": {}, "Unflatten": {"dim": "1", "unflattened_size": "(2, 2)"}, "Fold": {"output_size": "4", "kernel_size": "2"}, "Unfold": {"kernel_size": "2"},
    "Upsample": {"scale_factor": "2"}, "PixelShuffle": {"upscale_factor": "2"}, "PixelUnshuffle": {"downscale_factor": "2"}, "ChannelShuffle": {"groups": "2"},
    "ConstantPad1d": {"padding": "1", "value": "0.0"}, "ReflectionPad2d": {"padding": "1"}, "ZeroPad2d": {"padding": "1"}, "CircularPad1d": {"padding": "1"},
    "ReLU": {}, "LeakyReLU": {}, "ELU": {}, "CELU": {}, "GELU": {}, "Hardtanh": {}, "Softplus": {}, "Softshrink": {}, "Threshold": {"threshold": "0.1", "value": "0"},
    "PReLU": {}, "RReLU": {}, "Softmax": {}, "LogSoftmax": {}, "GLU": {}, "Softmin": {}, "Hardshrink": {},
    "CosineSimilarity": {}, "PairwiseDistance": {}, "CrossEntropyLoss": {}, "NLLLoss": {}, "MSELoss": {}, "L1Loss": {}, "SmoothL1Loss": {}, "HuberLoss": {},
    "BCELoss": {}, "BCEWithLogitsLoss": {}, "KLDivLoss": {}, "CTCLoss": {}, "TripletMarginLoss": {}, "MarginRankingLoss": {}, "MultiMarginLoss": {},
    "GaussianNLLLoss": {}, "PoissonNLLLoss": {}, "CosineEmbeddingLoss": {}, "HingeEmbeddingLoss": {}, "MultiLabelMarginLoss": {}, "SoftMarginLoss": {},
    "TripletMarginWithDistanceLoss": {}, "AdaptiveLogSoftmaxWithLoss": {"in_features": "4", "n_classes": "8", "cutoffs": "[2, 5]"},
    "Sequential": {}, "ModuleList": {}, "ModuleDict": {}, "ParameterList": {}, "ParameterDict": {}, "Identity": {},
}  # fmt: skip
LOADERS: dict[str, dict[str, str]] = {"DataLoader": {}}
SAMPLERS: dict[str, dict[str, str]] = {
    "SequentialSampler": {"data_source": "[1, 2, 3]"}, "RandomSampler": {"data_source": "[1, 2, 3]"},
    "SubsetRandomSampler": {"indices": "[1, 2]"}, "WeightedRandomSampler": {"weights": "[0.1, 0.9]", "num_samples": "3"},
    "BatchSampler": {"sampler": "[1, 2, 3]", "batch_size": "2", "drop_last": "False"},
}  # fmt: skip
DATASETS: dict[str, dict[str, str]] = {
    "Subset": {"dataset": "[1, 2, 3]", "indices": "[0, 2]"}, "ConcatDataset": {"datasets": "[[1], [2]]"},
    "random_split": {"dataset": "[1, 2, 3]", "lengths": "[1, 2]"},
}  # fmt: skip
KINDS: list[tuple[str, dict[str, dict[str, str]], Callable[[Any, str, dict[str, Any]], Any]]] = [
    ("optim", OPTIMIZERS, _optimizer), ("optim.lr_scheduler", SCHEDULES, _schedule), ("nn", LAYERS, _layer),
    ("utils.data", LOADERS, _loader), ("utils.data", SAMPLERS, _sampler), ("utils.data", DATASETS, _dataset),
]  # fmt: skip
# Not asked for: what starts processes or threads, or is only a hint.
SKIPPED = {"self", "num_workers", "multiprocessing_context", "prefetch_factor", "persistent_workers", "in_order", "args", "kwargs"}  # fmt: skip


def _found(lib: Any, path: str) -> Any:
    for part in path.split("."):
        lib = getattr(lib, part)
    return lib


def cases(torch: Any) -> Iterator[tuple[str, str, dict[str, str], Callable[[Any, str, dict[str, Any]], Any]]]:
    """Every (path, name, arguments as texts, use): the plain call, then each parameter of PyTorch's with each odd value."""
    # Its first optimiser imports this, which takes longer than SLOW: a limit that strikes in the middle of
    # an import leaves modules half made for the rest of the process.
    importlib.import_module("torch._dynamo")
    for path, table, use in KINDS:
        for name, plain in table.items():
            yield path, name, plain, use
            for parameter in inspect.signature(_found(torch, path + "." + name)).parameters:
                if parameter not in SKIPPED:
                    for value in ODD:
                        yield path, name, {**plain, parameter: value}, use


class _Late(BaseException):
    pass


def _late(*_: Any) -> None:
    raise _Late


def outcome(lib: Any, use: Callable[[Any, str, dict[str, Any]], Any], name: str, given: dict[str, str]) -> Any:
    """What the call gives, or the exception it raises."""
    space = {"torch": lib, "np": np, "math": math}
    signal.signal(signal.SIGPROF, _late)
    signal.setitimer(signal.ITIMER_PROF, SLOW)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return use(lib, name, {k: eval(v, space) for k, v in given.items()})
    except _Late:
        return "took too long"
    except Exception as e:
        return e
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _plain(value: Any) -> Any:
    """A result in words that both libraries share."""
    if hasattr(value, "detach"):
        return ["tensor", str(value.dtype).split(".")[1], value.tolist()]
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, (bool, int, float, complex)) or value is None or isinstance(value, np.generic):
        return value
    if isinstance(value, np.ndarray):
        return value.tolist()
    text = str(value).replace("rushlight", "torch")
    return "" if " at 0x" in text else text


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, (bool, np.bool_, str)) or isinstance(b, (bool, np.bool_, str)):
        return a == b
    if isinstance(a, (int, float, complex, np.generic)) and isinstance(b, (int, float, complex, np.generic)):
        both_nan = a != a and b != b
        return bool(both_nan or a == b or abs(a - b) <= 1e-4 * max(1e-3, abs(a), abs(b)))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    return bool(a == b)


def difference(torch: Any, case: tuple[str, str, dict[str, str], Any]) -> str | None:
    """How the call differs from PyTorch's, in words; None where it does not."""
    path, name, given, use = case
    theirs = outcome(torch, use, name, given)
    if isinstance(theirs, str):
        return None
    ours = outcome(rushlight, use, name, given)
    call = f"{path}.{name}({', '.join(f'{k}={v}' for k, v in given.items())})"
    errors = [isinstance(x, Exception) for x in (ours, theirs)]
    if any(errors):
        if type(theirs).__name__ in [c.__name__ for c in type(ours).__mro__]:
            return None
        kind = "accepted" if not errors[0] else "refused" if not errors[1] else "error"
        said = [f"{type(x).__name__}: {x}" if isinstance(x, Exception) else repr(_plain(x)) for x in (ours, theirs)]
        return f"{kind} {call}\n    ours   {said[0][:200]}\n    theirs {said[1][:200]}"
    if isinstance(ours, str):
        return f"slow {call}"
    a, b = _plain(ours), _plain(theirs)
    return None if _same(a, b) else f"value {call}\n    ours   {a!r:.300}\n    theirs {b!r:.300}"


if __name__ == "__main__":
    import torch

    wanted = sys.argv[1:]
    chosen = [c for c in cases(torch) if not wanted or c[1] in wanted or c[0] in wanted]
    count = 0
    for case in chosen:
        if found := difference(torch, case):
            count += 1
            print(found, flush=True)
    print(f"{count} of {len(chosen)} differ")
