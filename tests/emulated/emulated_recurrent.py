"""cuDNN's recurrent calls on the emulated GPU, answered by PyTorch through the same ctypes signatures."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

import rushlight as rl
from emulated_sequences import compare
from rushlight.runtime.cuda.library import cudnn, cudnn_rnn

MODES = ("relu", "tanh", "lstm", "gru")
TYPES = {0: (np.float32, torch.float32), 1: (np.float64, torch.float64)}
RNN_NAMES = {"lstm": "LSTM", "gru": "GRU", "relu": "RNN", "tanh": "RNN"}
made: dict[int, dict[str, Any]] = {}  # descriptors by their address
GAP = 3  # numbers between two weights


def new(box: int) -> int:
    address = 1000 + len(made)
    made[address] = {}
    ctypes.c_void_p.from_address(box).value = address
    return 0


def gone(address: int) -> int:
    assert made.pop(address) is not None
    made[-address] = {}
    return 0


def at(address: int, shape: tuple, kind: int) -> Any:
    """The numbers at an address."""
    dtype = np.dtype(TYPES[kind][0])
    count = int(np.prod(shape))
    buffer = (ctypes.c_byte * (count * dtype.itemsize)).from_address(address)
    return np.frombuffer(buffer, dtype).reshape(shape)


def set_rnn(d: int, algorithm: int, mode: int, bias: int, both: int, linear: int, kind: int, wide: int,
            math: int, width: int, hidden: int, out: int, layers: int, dropout: int, flags: int) -> int:  # fmt: skip
    if algorithm != cudnn_rnn.STANDARD:
        return 9
    assert (bias in (0, 2), linear, wide, math, dropout in made) == (True, 0, kind, 3 - 3 * kind, True)
    made[d] = {
        "mode": MODES[mode], "bias": bias == 2, "both": both, "kind": kind, "width": width,
        "hidden": hidden, "out": out, "layers": layers, "padded": flags,
    }  # fmt: skip
    return 0


def set_data(d: int, kind: int, layout: int, steps: int, batch: int, width: int, lengths: int, fill: int) -> int:
    told = list((ctypes.c_int * batch).from_address(lengths))
    assert layout == int(min(told) < max(told)) and max(told) == steps
    made[d] = {"lengths": told, "width": width, "kind": kind}
    return 0


def set_tensor(d: int, kind: int, count: int, dims: int, steps: int) -> int:
    shape, strides = [tuple((ctypes.c_int * count).from_address(p)) for p in (dims, steps)]
    assert strides == (shape[1] * shape[2], shape[2], 1)
    made[d] = {"shape": shape, "kind": kind}
    return 0


def network(rnn: dict) -> Any:
    more = {"proj_size": rnn["out"]} if rnn["out"] != rnn["hidden"] else {}
    if rnn["mode"] in ("relu", "tanh"):
        more["nonlinearity"] = rnn["mode"]
    return getattr(torch.nn, RNN_NAMES[rnn["mode"]])(
        rnn["width"], rnn["hidden"], rnn["layers"], bias=rnn["bias"], bidirectional=bool(rnn["both"]),
        dtype=TYPES[rnn["kind"]][1], **more,
    )  # fmt: skip


def places(net: Any) -> dict[str, int]:
    """All matrices first, then all biases, gaps between them."""
    found, start = {}, 0
    for name, p in sorted(net.named_parameters(), key=lambda n: n[0].startswith("bias")):
        found[name], start = start, start + p.numel() + GAP
    found["size"] = start
    return found


def weight_space(handle: int, d: int, size: int) -> int:
    number = 8 if made[d]["kind"] else 4
    ctypes.c_size_t.from_address(size).value = places(network(made[d]))["size"] * number
    return 0


def temp_space(handle: int, d: int, training: int, x: int, work: int, reserve: int) -> int:
    ctypes.c_size_t.from_address(work).value = 64
    ctypes.c_size_t.from_address(reserve).value = 48 if training else 0
    return 0


def weight_params(handle: int, d: int, cell: int, size: int, space: int, number: int, m: int,
                  m_at: int, b: int, b_at: int) -> int:  # fmt: skip
    rnn = made[d]
    net, gates = network(rnn), {"lstm": 4, "gru": 3}.get(rnn["mode"], 1)
    where, item = places(net), 8 if rnn["kind"] else 4
    layer, reverse = divmod(cell, 1 + rnn["both"])
    end = f"_l{layer}" + "_reverse" * reverse
    name = "hr" if number == 2 * gates else "hh" if number >= gates else "ih"
    for kind, descriptor, box in (("weight", m, m_at), ("bias", b, b_at)):
        p = dict(net.named_parameters()).get(f"{kind}_{name}{end}")
        if p is None:
            ctypes.c_void_p.from_address(box).value = None
            continue
        parts = 1 if name == "hr" else gates
        step = p.numel() // parts
        start = where[f"{kind}_{name}{end}"] + number % gates * step * (name != "hr")
        ctypes.c_void_p.from_address(box).value = space + start * item
        made[descriptor] = {"shape": (1, p.shape[0] // parts, p[0].numel())}
    return 0


def get_tensor(d: int, wanted: int, kind: int, count: int, dims: int, steps: int) -> int:
    for i, n in enumerate(made[d]["shape"]):
        (ctypes.c_int * 3).from_address(dims)[i] = n
    return 0


def run(rnn: int, x_d: int, x: int, h_d: int, hx: int, c_d: int, cx: Any, size: int, w: int) -> Any:
    what, data = made[rnn], made[x_d]
    net, kind = network(what), what["kind"]
    where = places(net)
    space = at(w, (where["size"],), kind)
    assert size == space.nbytes
    for name, p in net.named_parameters():
        p.data = torch.tensor(space[where[name] : where[name] + p.numel()]).reshape(p.shape)
    lengths = data["lengths"]
    sizes = [sum(n > k for n in lengths) for k in range(max(lengths))]
    arrays = [at(x, (sum(lengths), data["width"]), kind), at(hx, made[h_d]["shape"], kind)]
    if what["mode"] == "lstm":
        arrays.append(at(cx, made[c_d]["shape"], kind))
    leaves = [torch.tensor(a).requires_grad_() for a in arrays]
    states = tuple(leaves[1:]) if len(leaves) > 2 else leaves[1]
    out, last = net(torch.nn.utils.rnn.PackedSequence(leaves[0], torch.tensor(sizes)), states)
    return net, leaves, [out.data, *(last if isinstance(last, tuple) else (last,))]


def put(address: Any, value: Any, kind: int) -> None:
    if address:
        at(address, tuple(value.shape), kind)[...] = value.detach().numpy()


def forward(handle: int, rnn: int, training: int, lens: Any, x_d: int, x: int, y_d: int, y: int, h_d: int,
            hx: int, hy: int, c_d: int, cx: Any, cy: Any, size: int, w: int, ws: int, work: int, rs: int,
            reserve: Any) -> int:  # fmt: skip
    assert lens is None and (ws, rs) == (64, 48 * training) and work and bool(reserve) == bool(training)
    _, _, outs = run(rnn, x_d, x, h_d, hx, c_d, cx, size, w)
    assert made[y_d]["width"] == outs[0].shape[1]
    for address, value in zip((y, hy, cy), outs):
        put(address, value, made[rnn]["kind"])
    if reserve:
        ctypes.memset(reserve, 1, rs)
    return 0


def backward_data(handle: int, rnn: int, lens: Any, y_d: int, y: int, dy: int, x_d: int, dx: int, h_d: int,
                  hx: int, dhy: Any, dhx: Any, c_d: int, cx: Any, dcy: Any, dcx: Any, size: int, w: int,
                  ws: int, work: int, rs: int, reserve: int) -> int:  # fmt: skip
    assert ctypes.string_at(reserve, rs) == b"\1" * rs, "what forward left was changed"
    ctypes.memset(reserve, 2, rs)  # as cuDNN does
    # PyTorch's input is needed, which only the second call is given: `x` is kept by forward in earnest.
    made["data"] = (dy, dhy, dcy, dx, dhx, dcx, cx, c_d, w)  # type: ignore[index]
    return 0


def backward_weights(handle: int, rnn: int, add: int, lens: Any, x_d: int, x: int, h_d: int, hx: int, y_d: int,
                     y: int, size: int, dw: int, ws: int, work: int, rs: int, reserve: int) -> int:  # fmt: skip
    assert add == 0 and ctypes.string_at(reserve, rs) == b"\2" * rs
    dy, dhy, dcy, dx, dhx, dcx, cx, c_d, w = made["data"]  # type: ignore[index, misc]
    kind = made[rnn]["kind"]
    net, leaves, outs = run(rnn, x_d, x, h_d, hx, c_d, cx, size, w)
    given = [(o, torch.tensor(at(g, tuple(o.shape), kind))) for o, g in zip(outs, (dy, dhy, dcy)) if g]
    torch.autograd.backward([o for o, _ in given], [g for _, g in given])
    for address, leaf in zip((dx, dhx, dcx), leaves):
        put(address, leaf.grad, kind)
    where = places(net)
    space = at(dw, (where["size"],), kind)
    for name, p in net.named_parameters():
        space[where[name] : where[name] + p.numel()] += p.grad.numpy().reshape(-1)
    return 0


FUNCTIONS = {
    "cudnnCreate": new, "cudnnSetStream": lambda handle, stream: 0,
    "cudnnSetDropoutDescriptor": lambda *a: 0, "cudnnSetRNNDescriptor_v8": set_rnn,
    "cudnnSetRNNDataDescriptor": set_data, "cudnnSetTensorNdDescriptor": set_tensor,
    "cudnnGetTensorNdDescriptor": get_tensor, "cudnnGetRNNWeightSpaceSize": weight_space,
    "cudnnGetRNNTempSpaceSizes": temp_space, "cudnnGetRNNWeightParams": weight_params,
    "cudnnRNNForward": forward, "cudnnRNNBackwardData_v8": backward_data,
    "cudnnRNNBackwardWeights_v8": backward_weights,
    **{f"cudnnCreate{k}Descriptor": new for k in ("Dropout", "RNN", "RNNData", "Tensor")},
    **{f"cudnnDestroy{k}Descriptor": gone for k in ("Dropout", "RNN", "RNNData", "Tensor")},
}  # fmt: skip


def _refuse(*arguments: Any) -> int:
    return 3


def _told(status: int) -> bytes:
    return b"refused"


def library() -> Any:
    """The functions as a loaded library has them."""
    one = [ctypes.c_void_p]
    return SimpleNamespace(
        cudnnGetVersion=ctypes.CFUNCTYPE(ctypes.c_size_t)(lambda: 91000),
        cudnnGetErrorString=_told,
        **{
            name: ctypes.CFUNCTYPE(ctypes.c_int, *cudnn._ARGUMENTS.get(name, one))(FUNCTIONS.get(name, _refuse))
            for name in (cudnn._ARGUMENTS | FUNCTIONS)
        },
    )


def main() -> None:
    cudnn._open = library
    rl.backends.cudnn.allow_tf32 = False
    for name, how in [
        ("LSTM", {}), ("LSTM", {"num_layers": 2, "bidirectional": True}), ("GRU", {"bias": False}),
        ("LSTM", {"proj_size": 2, "num_layers": 2}), ("RNN", {"nonlinearity": "relu"}),
    ]:  # fmt: skip
        compare(name, how)
    compare("GRU", {"bidirectional": True}, [2, 2, 2, 1, 1])
    cudnn_rnn.call_of.cache_clear()
    cudnn_rnn._stack.cache_clear()
    left = [key for key in made if isinstance(key, int) and key >= 1000 and made[key]]
    assert not left, f"descriptors were not given back: {left}"


if __name__ == "__main__":
    main()
