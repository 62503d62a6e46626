"""`rushlight eval`: the test of a saved network, from the file alone."""

from __future__ import annotations

import json
import os
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from .data.images import Images
from .data.readings import of_saved
from .data.rows import Rows
from .data.sources import find_source, load_images
from .errors import UsageError, printable
from .pick_device import pick_device
from .tasks.kinds import KINDS
from .tasks.task import measure
from .training import checkpoint
from .training.networks import build

if TYPE_CHECKING:
    from argparse import Namespace


def network_of(saved: dict[str, Any]) -> Any:
    """The network a checkpoint describes, with its weights."""
    check_weights(saved)
    net = _described(saved)
    try:
        net.load_state_dict(saved["model"])
    except (RuntimeError, TypeError, ValueError) as error:
        raise UsageError(f"the weights do not fit the network: {error}") from None
    return net.eval()


def _described(saved: dict[str, Any]) -> Any:
    return build(saved["config"]["model"], channels=saved["channels"], size=saved["size"],
                 classes=len(saved["classes"]), width=saved["config"]["width"],
                 over=KINDS[saved["config"]["task"]].over, inputs=of_saved(saved))  # fmt: skip


def check_weights(saved: dict[str, Any]) -> None:
    """Refuse weights of other names or sizes than the network's, before memory for a very large network is taken."""
    import rushlight as rl

    with rl.device("meta"):  # shapes without memory
        wanted = _described(saved).state_dict()
    weights = saved["model"]
    odd = sorted(set(wanted) ^ set(weights))
    if odd:
        raise UsageError(f"the weights do not fit the network: {printable(odd[0])} is not in both")
    for name, tensor in wanted.items():
        if tensor.shape != weights[name].shape:
            raise UsageError(
                f"the weights do not fit the network: {name} has size {list(weights[name].shape)} "
                f"instead of {list(tensor.shape)}"
            )


def evaluate_file(args: Namespace) -> int:
    """Print the same numbers that `rushlight train` ended with."""
    from rushlight.utils.data import DataLoader

    saved = checkpoint.read(args.model)
    device, why = pick_device(args.device)
    images = images_of(saved, args)
    _check_fit(images, saved)
    if not args.json:
        print(f"Testing on {why}.")
    loader = DataLoader(images.test, args.batch_size)
    views = saved["config"]["views"]
    result = measure(images.task, network_of(saved).to(device), loader, device, views=views)
    if args.json:
        print(json.dumps(result.as_dict(), indent=1))
    else:
        print(result.table(args.by_class))
    warning = result.warning()
    if warning:
        print(warning, file=sys.stderr)
    return 0


def images_of(saved: dict[str, Any], args: Namespace) -> Images:
    """The images a network was trained on, split as they were then, or the data set `args.data`."""
    settings = SimpleNamespace(**{
        **saved["config"], "size": saved["size"], "augment": "none", "quiet": True, "strict": False,
        "cache": args.cache, "data_dir": args.data_dir or _folder_of(saved),
    })  # fmt: skip
    source = find_source(args.data or saved["data"], settings.task, settings.target, settings.input)
    if source.listing is None:
        settings.size = None  # its pictures have one; whether the network takes it is asked below
    images = load_images(source, settings)
    images.task.scale = saved["scale"]
    if images.inputs is not None:
        _as_then(images, saved)
    return images


def _as_then(images: Images, saved: dict[str, Any]) -> None:
    """Let the test be encoded as the network was trained, whatever the training part is now."""
    inputs = of_saved(saved)
    if inputs is None or type(inputs) is not type(images.inputs):
        raise UsageError(f"{images.name} has {images.noun}s, and the network was trained on others")
    known, here = (([c.name for c in one.columns] if isinstance(one, Rows) else []) for one in (inputs, images.inputs))
    lost = [name for name in known if name not in here]
    if lost:
        raise UsageError(
            f"{images.name} has no column {', '.join(map(printable, lost[:8]))} that can be used, which the network was trained with"
        )
    contents = [tuple(c[here.index(name)] for name in known) for c in images.test.contents] if known else images.test.contents  # fmt: skip
    images.test.x = inputs.encode(contents)


def _folder_of(saved: dict[str, Any]) -> str:
    """The folder of the data set. A folder that only a file names is never created."""
    return saved["data_dir"] if os.path.isdir(saved["data_dir"]) else "data"


def _check_fit(images: Images, saved: dict[str, Any]) -> None:
    """Refuse images that the network does not know."""
    theirs, ours = images.classes, saved["classes"]
    if theirs != ours:
        odd = [c for c in theirs if c not in ours]
        what = f"{images.task.one} {odd[0]!r}" if odd else images.task.counted()
        raise UsageError(f"{images.name} has {what}, but the network knows {len(ours)}: {', '.join(ours[:12])}")
    if images.inputs is not None:
        return
    shape, wanted = (images.channels, images.size), (saved["channels"], saved["size"])
    if shape != wanted:
        raise UsageError(
            f"{images.name} has images of {shape[0]}x{shape[1]}x{shape[1]}, but the network takes "
            f"{wanted[0]}x{wanted[1]}x{wanted[1]}"
        )
