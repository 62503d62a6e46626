"""`rushlight export`: a trained network as ONNX, safetensors or a plain .pth, for other programs."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from .data.augment import MARGIN
from .errors import UsageError
from .evaluate import network_of
from .tasks.kinds import task_of
from .training import checkpoint, zoo
from .training.loop import BEST, LAST
from .training.networks import head_of, how_to_build

if TYPE_CHECKING:
    from argparse import Namespace

    from ..nn.modules.module import Module


def export(args: Namespace) -> int:
    """Write the file and say what it takes and gives."""
    if args.to != "onnx" and (args.opset or args.batch):
        raise UsageError(
            f"--opset and --batch are for --to onnx, not for --to {args.to}: leave them out"
        )
    source = checkpoint.find(args.model)
    saved = checkpoint.read(source)
    path = args.out or os.path.join(os.path.dirname(source), f"model.{args.to}")
    if os.path.isdir(path):
        raise UsageError(f"--out {path} is a folder: name a file")
    if os.path.exists(path) and os.path.basename(path) in (BEST, LAST):
        raise UsageError(f"--out {path} is the file of a run, which would be lost: choose another name")  # fmt: skip
    net = network_of(saved)
    task_of(saved).exported(net, head_of(net))
    try:
        {"onnx": _onnx, "safetensors": _safetensors, "pth": _pth}[args.to](net, saved, path, args)
    except (OSError, RuntimeError) as error:
        raise UsageError(
            f"{path} cannot be written: {getattr(error, 'strerror', None) or error}"
        ) from None
    except ImportError as error:
        raise UsageError(f"--to {args.to}: {error}") from None
    size = os.path.getsize(path) / 2**20
    print(f"Wrote {path} ({size:.1f} MB). {how_to_load(args.to, saved, path)}")
    return 0


def about(saved: dict[str, Any]) -> dict[str, str]:
    """What whoever uses the network must know, as text: classes, size, scale."""
    return {
        **task_of(saved).about(), "model": saved["config"]["model"], "size": str(saved["size"]),
        "channels": str(saved["channels"]), "mean": json.dumps(list(saved["mean"])),
        "std": json.dumps(list(saved["std"])), "width": str(saved["config"]["width"]),
        "fit": saved["config"]["fit"] or "crop", "margin": f"{MARGIN if saved['config']['fit'] == 'crop' else 1:.6f}",
    }  # fmt: skip


def _onnx(net: Module, saved: dict[str, Any], path: str, args: Namespace) -> None:
    import rushlight as rl

    try:
        import onnx  # noqa: F401
    except ImportError:
        raise UsageError(
            "--to onnx needs the onnx package: pip install 'rushlight[onnx]'"
        ) from None
    shape = (args.batch or 2, saved["channels"], saved["size"], saved["size"])
    output = task_of(saved).output
    axes = None if args.batch else {"image": {0: "batch"}, output: {0: "batch"}}
    rl.onnx.export(net, (rl.zeros(*shape),), path, input_names=["image"], output_names=[output],
                   dynamic_axes=axes, opset_version=args.opset, metadata=about(saved))  # fmt: skip


def _safetensors(net: Module, saved: dict[str, Any], path: str, args: Namespace) -> None:
    from rushlight.io import safetensors

    safetensors.save_file(net.state_dict(), path, about(saved))


def _pth(net: Module, saved: dict[str, Any], path: str, args: Namespace) -> None:
    import rushlight as rl

    rl.save(net.state_dict(), path)


def how_to_load(kind: str, saved: dict[str, Any], path: str) -> str:
    """What the file takes and gives, and for weights the network that they are of."""
    c, s, task = saved["channels"], saved["size"], task_of(saved)
    if kind == "onnx":
        return (
            f"Input image: float32 N x {c} x {s} x {s}, (pixel / 255 - mean) / std; output {task.output}: N x {task.shape(s)}, "
            f"{task.meaning}. {task.many.capitalize()}, mean, std and how pictures become squares are in its metadata."
        )
    builder, options = how_to_build(saved["config"]["model"], c, s, len(saved["classes"]), saved["config"]["width"], task.over)  # fmt: skip
    theirs = (
        not task.over
        and zoo.trained_size(builder) is not None
        and not {"width", "in_channels"} & set(options)
    )
    given = ", ".join(f"{name}={value!r}" for name, value in options.items())
    net = (
        f"{'torchvision' if theirs else 'rushlight.vision'}.models.{task.over or builder}({given})"
    )
    if kind == "safetensors":
        return f"Tensors for {net}; {task.many}, size, mean, std and how pictures become squares are in its metadata."
    return f"A state_dict for {net}, which torch.load reads: model.load_state_dict(torch.load({path!r}))."
