"""`rushlight eval`: the test of a saved network, from the file alone."""

from __future__ import annotations

import os
from typing import Any

from . import checkpoint
from .errors import UsageError
from .images import Images, load_images
from .networks import build
from .pick_device import pick_device
from .report import measure, table


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
                 classes=len(saved["classes"]), width=saved["config"]["width"])  # fmt: skip


def check_weights(saved: dict[str, Any]) -> None:
    """Refuse weights of other names or sizes than the network's, before a giant is made."""
    import rushlight as rl

    with rl.device("meta"):  # shapes without memory
        wanted = _described(saved).state_dict()
    weights = saved["model"]
    odd = sorted(set(wanted) ^ set(weights))
    if odd:
        raise UsageError(f"the weights do not fit the network: {odd[0]} is not in both")
    for name, tensor in wanted.items():
        if tensor.shape != weights[name].shape:
            raise UsageError(
                f"the weights do not fit the network: {name} has size {list(weights[name].shape)} "
                f"instead of {list(tensor.shape)}"
            )


def test_loader(images: Images, batch_size: int) -> Any:
    """The test images in order."""
    from rushlight.utils.data import DataLoader

    return DataLoader(images.test, batch_size)


def evaluate_file(args: Any) -> int:
    """Print the same numbers that `rushlight train` ended with."""
    saved = checkpoint.read(args.model)
    device, why = pick_device(args.device)
    data = args.data or saved["data"]
    images = load_images(data, args.data_dir or _folder_of(saved), size=saved["size"])
    _check_fit(images, saved)
    print(f"Testing on {why}.")
    loader = test_loader(images, args.batch_size)
    print(table(measure(network_of(saved).to(device), loader, device, images.classes)))
    return 0


def _folder_of(saved: dict[str, Any]) -> str:
    """Where the data set lay; what is not there is never made because a file says so."""
    return saved["data_dir"] if os.path.isdir(saved["data_dir"]) else "data"


def _check_fit(images: Images, saved: dict[str, Any]) -> None:
    """Refuse images that the network does not know."""
    theirs, ours = images.classes, saved["classes"]
    if theirs != ours:
        odd = [c for c in theirs if c not in ours]
        what = f"class {odd[0]!r}" if odd else f"{len(theirs)} classes"
        raise UsageError(
            f"{images.name} has {what}, but the network knows {len(ours)}: {', '.join(ours[:12])}"
        )
    shape, wanted = (images.channels, images.size), (saved["channels"], saved["size"])
    if shape != wanted:
        raise UsageError(
            f"{images.name} has images of {shape[0]}x{shape[1]}x{shape[1]}, but the network takes "
            f"{wanted[0]}x{wanted[1]}x{wanted[1]}"
        )
