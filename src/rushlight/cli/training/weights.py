"""Weights to start from: a file, torchvision's for ImageNet, or a model of the Hugging Face hub."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from .. import config
from ..errors import UsageError
from ..words import counted
from .networks import SMALL, head_of

if TYPE_CHECKING:
    from ...nn.modules.module import Module

# Prefixes that other programs put before the names of a network.
_WRAPPERS = ("module.", "model.", "backbone.", "net.", "encoder.", "_orig_mod.")
# Patterns of the names in Hugging Face's ResNets, and the names that torchvision has for them.
_HF_RESNET = (
    (r"^resnet\.", ""),
    (r"^embedder\.embedder\.convolution\.", "conv1."),
    (r"^embedder\.embedder\.normalization\.", "bn1."),
    (r"^encoder\.stages\.(\d)\.layers\.(\d+)\.shortcut\.convolution\.", r"layer\1+.\2.downsample.0."),
    (r"^encoder\.stages\.(\d)\.layers\.(\d+)\.shortcut\.normalization\.", r"layer\1+.\2.downsample.1."),
    (r"^encoder\.stages\.(\d)\.layers\.(\d+)\.layer\.(\d)\.convolution\.", r"layer\1+.\2.conv\3+."),
    (r"^encoder\.stages\.(\d)\.layers\.(\d+)\.layer\.(\d)\.normalization\.", r"layer\1+.\2.bn\3+."),
    (r"^classifier\.1\.", "fc."),
)


def start_from(net: Module, source: str, model: str) -> str:
    """Put the weights of `source` into `net`, all but a head of another size; the answer says what was done."""
    net = getattr(net, "backbone", net)  # the rest is all head
    found = _fitting(_fetch(source, model), net)
    head = head_of(net)
    own = net.state_dict()
    taken, left = {}, []
    for name, value in own.items():
        given = found.get(name)
        if given is None or given.shape != value.shape:
            left.append(name)
        else:
            taken[name] = given
    lost = [n for n in left if not n.startswith(head + ".") and not n.endswith("num_batches_tracked")]
    if lost:
        raise UsageError(f"--weights {source}: {_misfit(lost[0], found, own, model)}")
    net.load_state_dict({**own, **taken})
    new = any(n.startswith(head + ".") for n in left)
    if source == config.OWN:
        return ("Weights: those inside this package, learnt from small pictures; better ones, where there is a network: "
                "--weights imagenet, or --weights hf:timm/resnet18.a1_in1k.")  # fmt: skip
    return f"Weights: {counted(len(taken), 'tensor')} of {source}" + ("; the head is new." if new else ".")


def _misfit(name: str, found: dict[str, Any], own: dict[str, Any], model: str) -> str:
    if name not in found:
        return f"it has no {name}: these are not the weights of {model}; choose --model to fit them"
    theirs, ours = list(found[name].shape), list(own[name].shape)
    if "pos_embedding" in name:
        return f"{name} has size {theirs} where this network has {ours}: they were trained at another --size"
    size = "; a --size above 40 has the usual first layer" if name == "conv1.weight" else ""
    return f"{name} has size {theirs} where this network has {ours}: another --width or --model{size}"


# -- getting them --------------------------------------------------------------------------------


def own_file() -> str:
    """The weights inside this package (tools/backbone.py made them)."""
    from rushlight import vision

    return os.path.join(os.path.dirname(vision.__file__), "embedded", SMALL + ".pth")


def _fetch(source: str, model: str) -> dict[str, Any]:
    if source == config.OWN:
        return _read(own_file())
    if source == "imagenet":
        return _imagenet(model)
    if source.startswith("hf:"):
        return _hugging_face(source[3:])
    return _read(source)


def _imagenet(model: str) -> dict[str, Any]:
    from rushlight.vision import models

    try:
        weights = models.get_model_weights(model)
    except (ValueError, LookupError):
        raise UsageError(f"--weights imagenet: there are none for {model}; resnet18 has some") from None
    try:
        return weights.DEFAULT.get_state_dict(progress=True, check_hash=True)  # type: ignore[attr-defined]
    except (RuntimeError, OSError) as error:
        raise UsageError(f"--weights imagenet: {' '.join(str(error).split())}") from None


def _hugging_face(name: str) -> dict[str, Any]:
    """`model.safetensors` of a repository, checked against the hash that the hub tells."""
    from rushlight import hub

    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise UsageError(f"--weights hf:{name}: OWNER/NAME is expected, as in hf:timm/resnet18.a1_in1k")
    url = f"https://huggingface.co/{name}/resolve/main/model.safetensors"
    path = os.path.join(hub.get_dir(), "huggingface", name.replace("/", "--") + ".safetensors")
    if not os.path.exists(path):
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            hub.download_url_to_file(url, path, hash_prefix=_promised_hash(url))
        except (RuntimeError, OSError) as error:
            why = getattr(error, "reason", None) or " ".join(str(error).split())
            raise UsageError(
                f"--weights hf:{name}: {url} cannot be had: {why}. Without a network, place it as {path} by hand"
            ) from None
    return _read(path)


def _promised_hash(url: str) -> str | None:
    """The SHA-256 of a file, which the hub sends with its redirection."""
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class Stay(HTTPRedirectHandler):
        def redirect_request(self, *args: Any) -> None:
            return None

    from urllib.error import HTTPError

    try:
        answer: Any = build_opener(Stay).open(Request(url, method="HEAD"), timeout=30)
    except HTTPError as redirected:
        if redirected.code not in (301, 302, 303, 307, 308):
            redirected.close()
            raise
        answer = redirected
    with answer:
        tag = (answer.headers.get("X-Linked-Etag") or "").strip('"')
    return tag if re.fullmatch(r"[0-9a-f]{64}", tag) else None


def _read(path: str) -> dict[str, Any]:
    """The tensors of a .pth or .safetensors file, by name."""
    import rushlight as rl
    from rushlight import io
    from rushlight.io import safetensors

    try:
        if path.endswith(".safetensors"):
            content: Any = safetensors.load_file(path)
        else:
            content = rl.load(path, map_location="cpu")
    except FileNotFoundError:
        raise UsageError(f"--weights {path}: no such file; imagenet or hf:OWNER/NAME are the other ways") from None
    except (io.CorruptFileError, OSError, ImportError) as error:
        raise UsageError(f"--weights {path} cannot be read: {error}") from None
    for key in ("state_dict", "model", "model_state_dict", "net"):
        if isinstance(content, dict) and isinstance(content.get(key), dict):
            content = content[key]
            break
    tensors = {k: v for k, v in content.items() if isinstance(v, rl.Tensor)} if isinstance(content, dict) else {}
    if not tensors:
        raise UsageError(f"--weights {path}: there are no named tensors in it")
    return tensors


# -- names ---------------------------------------------------------------------------------------


def _fitting(found: dict[str, Any], net: Module) -> dict[str, Any]:
    """The same tensors under the network's own names, whoever wrote them."""
    own = net.state_dict()
    found = _unwrapped(found, own)
    if any(name.startswith(("resnet.embedder", "embedder.embedder")) for name in found):
        found = {_renamed(name): value for name, value in found.items()}
    if len(set(found) & set(own)) < len(own) // 2:
        return _by_order(found, own)
    return found


def _unwrapped(found: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    while True:
        for prefix in _WRAPPERS:
            if found and all(name.startswith(prefix) for name in found) and not any(
                name.startswith(prefix) for name in own
            ):  # fmt: skip
                found = {name[len(prefix) :]: value for name, value in found.items()}
                break
        else:
            return found


def _renamed(name: str) -> str:
    for pattern, ours in _HF_RESNET:
        name = re.sub(pattern, ours, name)
    # `3+` in a replacement means the number after 3: their layers are counted from 0.
    return re.sub(r"(\d)\+", lambda m: str(int(m[1]) + 1), name)


def _by_order(found: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Tensors paired by their order, where every shape but the head's agrees: timm's other spellings."""
    counted = [n for n in own if not n.endswith("num_batches_tracked")]
    given = [v for n, v in found.items() if not n.endswith("num_batches_tracked")]
    body = counted[:-2]
    if len(given) < len(body) or any(own[n].shape != v.shape for n, v in zip(body, given)):
        return found
    return dict(zip(counted, given))
