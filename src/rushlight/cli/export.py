"""`rushlight export`: a trained network as ONNX, safetensors or a plain .pth, for other programs."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from .data.augment import MARGIN
from .data.readings import of_saved
from .errors import UsageError
from .evaluate import network_of
from .squares import PICTURES, SQUARES, put_before
from .tasks.kinds import task_of
from .training import checkpoint, zoo
from .training.loop import BEST, LAST
from .training.networks import head_of, how_to_build

if TYPE_CHECKING:
    from argparse import Namespace

    from ..nn.modules.module import Module


def export(args: Namespace) -> int:
    """Write the file and say what it takes and gives."""
    if args.to != "onnx" and (args.opset or args.batch or args.bytes):
        raise UsageError(f"--opset, --batch and --bytes are for --to onnx, not for --to {args.to}: leave them out")
    source = checkpoint.find(args.model)
    saved = checkpoint.read(source)
    path = args.out or os.path.join(os.path.dirname(source), f"model.{args.to}")
    if os.path.isdir(path):
        raise UsageError(f"--out {path} is a folder: name a file")
    if os.path.exists(path) and os.path.basename(path) in (BEST, LAST):
        raise UsageError(f"--out {path} is the file of a run, which would be lost: choose another name")
    if args.bytes and saved["inputs"] is not None:
        raise UsageError("--bytes is for pictures: leave it out")
    if args.bytes and (args.opset or 18) < 18:
        raise UsageError(f"--bytes needs opset 18 or newer, and --opset is {args.opset}")
    net = network_of(saved)
    task_of(saved).exported(net, head_of(net))
    try:
        {"onnx": _onnx, "safetensors": _safetensors, "pth": _pth}[args.to](net, saved, path, args)
    except (OSError, RuntimeError) as error:
        raise UsageError(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}") from None
    except ImportError as error:
        raise UsageError(f"--to {args.to}: {error}") from None
    size = os.path.getsize(path) / 2**20
    print(f"Wrote {path} ({size:.1f} MB). {how_to_load(args.to, saved, path, args.bytes)}")
    return 0


def about(saved: dict[str, Any]) -> dict[str, str]:
    """What whoever uses the network must know, as text: classes, size, scale."""
    if (inputs := of_saved(saved)) is not None:
        return {**task_of(saved).about(), "model": saved["config"]["model"], **inputs.about()}
    return {
        **task_of(saved).about(), "model": saved["config"]["model"], "size": str(saved["size"]),
        "channels": str(saved["channels"]), "mean": json.dumps(list(saved["mean"])),
        "std": json.dumps(list(saved["std"])), "width": str(saved["config"]["width"]),
        "fit": saved["config"]["fit"] or "crop", "margin": f"{_margin(saved):.6f}",
    }  # fmt: skip


def _margin(saved: dict[str, Any]) -> float:
    """So many times the network's side is that of a picture of which the middle is cut out."""
    return MARGIN if saved["config"]["fit"] == "crop" else 1


def _onnx(net: Module, saved: dict[str, Any], path: str, args: Namespace) -> None:
    import rushlight as rl

    try:
        import onnx  # noqa: F401
    except ImportError:
        raise UsageError("--to onnx needs the onnx package: pip install 'rushlight[onnx]'") from None
    shape: tuple[int, ...] = (args.batch or 2, saved["channels"], saved["size"], saved["size"])
    inputs = of_saved(saved)
    x = rl.zeros(*shape) if inputs is None else inputs.zeros(args.batch or 2)
    output = task_of(saved).output
    name = SQUARES if args.bytes else PICTURES if inputs is None else inputs.input
    axes = None if args.batch else {name: {0: "batch"}, output: {0: "batch"}}
    program = rl.onnx.export(net, (x,), input_names=[name], output_names=[output], dynamic_axes=axes,
                             opset_version=args.opset, metadata={**about(saved), "input": "bytes" if args.bytes else "scaled"})  # fmt: skip
    if args.bytes:
        put_before(program.model_proto, saved, _margin(saved))
    program.save(path)


def _of_others(inputs: Any, kind: str, saved: dict[str, Any]) -> str:
    """What rows or texts are made into before the network, and where that is told."""
    place = "its metadata" if kind != "pth" else "the metadata of --to safetensors"
    x = inputs.encode([inputs.example()])
    name = {"mlp": "OfRows", "pieces": "OfPieces", "transformer": "OfBytes"}[inputs.model]
    net = "" if kind == "onnx" else f"A state_dict of rushlight.cli.training.readers.{name}. "
    return f"{net}Input {inputs.input}: {x.dtype} N x {x.shape[1]}, made of {inputs.told()} as {place} tells"


def _safetensors(net: Module, saved: dict[str, Any], path: str, args: Namespace) -> None:
    from rushlight.io import safetensors

    safetensors.save_file(net.state_dict(), path, about(saved))


def _pth(net: Module, saved: dict[str, Any], path: str, args: Namespace) -> None:
    import rushlight as rl

    rl.save(net.state_dict(), path)


def how_to_load(kind: str, saved: dict[str, Any], path: str, of_bytes: bool = False) -> str:
    """What the file takes and gives, and for weights the network that they are of."""
    c, s, task = saved["channels"], saved["size"], task_of(saved)
    if (inputs := of_saved(saved)) is not None:
        return f"{_of_others(inputs, kind, saved)}; output {task.output}: N x {task.shape(s)}, {task.meaning}."
    if kind == "onnx":
        given = f"bytes N x height x width x {c}, the pixels of pictures of any size" if of_bytes else f"float32 N x {c} x {s} x {s}, (pixel / 255 - mean) / std"  # fmt: skip
        return (
            f"Input image: {given}; output {task.output}: N x {task.shape(s)}, "
            f"{task.meaning}. {task.many.capitalize()}, mean, std and how pictures become squares are in its {'nodes and ' if of_bytes else ''}metadata."
        )
    builder, options = how_to_build(saved["config"]["model"], c, s, len(saved["classes"]), saved["config"]["width"], task.over)  # fmt: skip
    theirs = not task.over and zoo.trained_size(builder) is not None and not {"width", "in_channels"} & set(options)
    given = ", ".join(f"{name}={value!r}" for name, value in options.items())
    net = f"{'torchvision' if theirs else 'rushlight.vision'}.models.{task.over or builder}({given})"
    if kind == "safetensors":
        return f"Tensors for {net}; {task.many}, size, mean, std and how pictures become squares are in its metadata."
    return f"A state_dict for {net}, which torch.load reads: model.load_state_dict(torch.load({path!r}))."
