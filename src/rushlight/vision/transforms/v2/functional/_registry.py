"""Which body serves which kind of input: one table of kernels for each functional."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Concatenate, ParamSpec

from .....core.tensor import Tensor
from .... import tv_tensors
from ...._pillow import need
from ....tv_tensors import BoundingBoxes, Image, KeyPoints, Mask, TVTensor, Video
from ..._convert import pil_to_tensor, to_pil_image

__all__ = ["is_pure_tensor", "register_kernel"]

Kernel = Callable[..., Any]
Options = ParamSpec("Options")

PIL = "PIL.Image.Image"  # stands for the class, which is not imported before somebody has a picture
# functional -> kind of input -> kernel
_KERNELS: dict[Kernel, dict[Any, Kernel]] = {}
_HOOKS = f"{__name__.split('.')[0]}._C"
_BUILT_IN = (TVTensor, Image, Video, Mask, BoundingBoxes, KeyPoints)


def is_pure_tensor(inpt: object) -> bool:
    """Whether something is a tensor that does not say what its numbers are.

    Args:
        inpt: anything.

    Example:
        >>> F.is_pure_tensor(torch.zeros(2))
        True
    """
    return isinstance(inpt, Tensor) and not isinstance(inpt, TVTensor)


def _accepted(kernel: Kernel) -> set[str] | None:
    """The options a kernel takes by name; None when it takes all."""
    parameters = list(signature(kernel).parameters.values())[1:]
    if any(p.kind is Parameter.VAR_KEYWORD for p in parameters):
        return None
    return {p.name for p in parameters}


def _for_kind(functional: Kernel, kernel: Kernel) -> Kernel:
    """A kernel for plain tensors as one for a TVTensor.

    Attributes of the input that the kernel has a parameter for are handed to it, and options it has none for are left
    out: a box does not care how pixels are interpolated. A kernel that gives two things gives the new size second.
    """
    names = list(signature(functional).parameters)[1:]
    takes = _accepted(kernel)

    @wraps(kernel)
    def run(inpt: Any, *args: Any, **options: Any) -> Any:
        given = {**dict(zip(names, args)), **options}
        if takes is not None:
            given = {n: v for n, v in given.items() if n in takes}
            given |= {n: getattr(inpt, n) for n in inpt._fields if n in takes}
        output = kernel(inpt.as_subclass(Tensor), **given)
        if isinstance(output, tuple):
            return tv_tensors.wrap(output[0], like=inpt, canvas_size=output[1])
        return tv_tensors.wrap(output, like=inpt)

    return run


def _each(kernel: Kernel) -> Kernel:
    """The same for kernels that give several pictures."""

    @wraps(kernel)
    def run(inpt: Any, *args: Any, **options: Any) -> Any:
        return tuple(tv_tensors.wrap(o, like=inpt) for o in kernel(inpt.as_subclass(Tensor), *args, **options))

    return run


def by_tensor(kernel: Kernel) -> Kernel:
    """A kernel for tensors as one for PIL images, which keep their mode."""

    @wraps(kernel)
    def run(image: Any, *args: Any, **options: Any) -> Any:
        return to_pil_image(kernel(pil_to_tensor(image), *args, **options), mode=image.mode)

    return run


def serve(
    functional: Kernel,
    image: Kernel,
    pil: Kernel | None = None,
    mask: Kernel | None = None,
    boxes: Kernel | None = None,
    points: Kernel | None = None,
    *,
    kinds: tuple[type, ...] = (Image, Video),
    several: bool = False,
) -> None:
    """Fill a functional's table; `kinds` are served as plain tensors are: a video is pictures one after the other."""
    table: dict[Any, Kernel] = {Tensor: image}
    table |= dict.fromkeys(kinds, _each(image) if several else _for_kind(functional, image))
    for kind, kernel in ((Mask, mask), (BoundingBoxes, boxes), (KeyPoints, points)):
        if kernel is not None:
            table[kind] = _for_kind(functional, kernel)
    if pil is not None:
        table[PIL] = pil
    _KERNELS[functional] = table


_WHOM = "for every kind of `tv_tensors`."


def functional(
    name: str,
    image: Callable[Concatenate[Tensor, Options], Any],
    pil: Kernel | None = None,
    mask: Kernel | None = None,
    boxes: Kernel | None = None,
    points: Kernel | None = None,
    *,
    kinds: tuple[type, ...] = (Image, Video),
    several: bool = False,
    like: str = "",
    whom: str = _WHOM,
) -> Callable[Concatenate[Any, Options], Any]:
    """One function for all inputs that have a kernel; its options are those of the kernel for tensor pictures.

    It is documented by its twin of the first generation, which is called `like` where it has another name.
    """
    first, *rest = signature(image).parameters.values()
    names = [p.name for p in rest]
    defaults = {p.name: p.default for p in rest if p.default is not Parameter.empty}
    signed = signature(image).replace(
        parameters=[first.replace(name="inpt", annotation="Picture"), *rest], return_annotation=Any
    )

    def made(inpt: Any, *args: Any, **options: Any) -> Any:
        given = {**defaults, **dict(zip(names, args)), **options}
        if len(args) > len(names) or given.keys() != set(names) or not options.keys().isdisjoint(names[: len(args)]):
            try:
                signed.bind(inpt, *args, **options)
            except TypeError as error:
                raise TypeError(f"{name}() {error}") from None
        return call(made, inpt, **given)

    made.__signature__ = signed  # type: ignore[attr-defined]
    made.__name__ = made.__qualname__ = name
    made.__module__ = __package__
    made.__doc__ = f"As `vision.transforms.functional.{like or name}`, {whom}"
    serve(made, image, pil, mask, boxes, points, kinds=kinds, several=several)
    return made


def tell(functional: Kernel, **kernels: Kernel) -> None:
    """Fill the table of a functional that answers with numbers: kernels get the input as it is."""
    kinds = {"image": (Tensor, Image), "video": (Video,), "frames": (Tensor, Video), "mask": (Mask,),
             "boxes": (BoundingBoxes,), "points": (KeyPoints,), "pil": (PIL,)}  # fmt: skip
    _KERNELS[functional] = {kind: k for name, k in kernels.items() for kind in kinds[name]}


def _passed(inpt: Any, *args: Any, **options: Any) -> Any:
    return inpt


def kernel_of(functional: Kernel, kind: type, allow_passthrough: bool = False) -> Kernel:
    """The kernel of a functional for inputs of a class; `allow_passthrough`: others go through as they are."""
    table = _KERNELS.get(functional)
    if not table:
        raise ValueError(f"No kernel registered for functional {functional.__name__}.")
    for cls in kind.__mro__:
        if cls in table:
            return table[cls]
        if cls is TVTensor:
            break  # a kind of a user's own is no picture unless the user says so
        if cls.__name__ == "Image" and cls.__module__ == "PIL.Image" and PIL in table:
            return table[PIL]
    if allow_passthrough:
        return _passed
    known = [need().Image if k == PIL else k for k in table]
    raise TypeError(f"Functional F.{functional.__name__} supports inputs of type {known}, but got {kind} instead.")


def call(functional: Kernel, inpt: Any, **options: Any) -> Any:
    """What a functional does: find the kernel, and run it; who counts uses, by replacing PyTorch's hook, is told."""
    hooks = sys.modules.get(_HOOKS)
    if hooks is not None:
        hooks._log_api_usage_once(f"{functional.__module__}.{functional.__name__}")
    return kernel_of(functional, type(inpt))(inpt, **options)


def register_kernel(functional: Kernel | str, tv_tensor_cls: type) -> Callable[[Kernel], Kernel]:
    """Let a functional serve a kind of TVTensor of your own: a decorator for the function that does it.

    Args:
        functional: one of `transforms.v2.functional`, or its name.
        tv_tensor_cls: the class, derived from `tv_tensors.TVTensor`.

    Raises:
        ValueError: if one of them is something else.

    Example:
        >>> class Depth(tv_tensors.TVTensor): pass
        >>> @F.register_kernel("horizontal_flip", Depth)
        ... def flipped(depth): return tv_tensors.wrap(depth.flip(-1), like=depth)
        >>> F.horizontal_flip(torch.tensor([1, 2]).as_subclass(Depth))
        Depth([2, 1])
    """
    chosen = _by_name(functional) if isinstance(functional, str) else functional
    if not getattr(chosen, "__globals__", {}).get("__name__", "").startswith(__package__):
        raise ValueError(
            "Kernels can only be registered on functionals from the torchvision.transforms.v2.functional namespace, "
            f"but got {functional}."
        )
    if not (isinstance(tv_tensor_cls, type) and issubclass(tv_tensor_cls, TVTensor)):
        raise ValueError(
            "Kernels can only be registered for subclasses of torchvision.tv_tensors.TVTensor, "
            f"but got {tv_tensor_cls}."
        )
    if tv_tensor_cls in _BUILT_IN:
        raise ValueError(f"Kernels cannot be registered for the builtin tv_tensor classes, but got {tv_tensor_cls}")
    return register_any(chosen, tv_tensor_cls, tv_tensor_wrapper=False)


def register_any(functional: Kernel, input_type: Any, *, tv_tensor_wrapper: bool = True) -> Callable[[Kernel], Kernel]:
    """`register_kernel` for any function and class; `tv_tensor_wrapper`: the kernel is one for plain tensors."""
    pictures = isinstance(input_type, type) and input_type.__module__ == "PIL.Image"
    table, key = _KERNELS.setdefault(functional, {}), PIL if pictures else input_type
    if key in table:
        raise ValueError(f"Functional {functional} already has a kernel registered for type {input_type}.")

    def register(kernel: Kernel) -> Kernel:
        wraps_it = tv_tensor_wrapper and issubclass(input_type, TVTensor)
        table[key] = _for_kind(functional, kernel) if wraps_it else kernel
        return kernel

    return register


def pil_kernel(name: str) -> Kernel:
    """A functional's kernel for PIL images by torchvision's name of it, `_resize_image_pil`: a module's `__getattr__`."""
    chosen = name.removeprefix("_").removesuffix("_image_pil")
    functional: Any = vars(sys.modules[__package__]).get(chosen)
    if name != f"_{chosen}_image_pil" or PIL not in _KERNELS.get(functional, ()):
        raise AttributeError(f"module {__package__!r} has no attribute {name!r}")
    return _KERNELS[functional][PIL]


def _by_name(name: str) -> Kernel:
    names = vars(sys.modules[__package__])  # whole by now: this is called by users
    if name not in names:
        raise ValueError(f"Could not find functional with name '{name}' in torchvision.transforms.v2.functional.")
    return names[name]
