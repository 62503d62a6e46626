"""Helpers: pictures of graphs, numerical gradients, comparisons, sizes, and a cache of files."""

from __future__ import annotations

import os
import shutil
import subprocess
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import rushlight as rl

from ..base.arrays import Array
from . import cuda
from ._arrays import compute
from ._graph import Traced
from .core import as_variable

if TYPE_CHECKING:
    from .core import Function, Operand, Variable

# -- pictures of graphs ---------------------------------------------------------------------------


def _dot_var(v: Variable, verbose: bool = False) -> str:
    name = v.name or ""
    if verbose and v.data is not None:
        name += (": " if name else "") + f"{v.shape} {v.dtype}"
    return f'{id(v)} [label="{name}", color=orange, style=filled]\n'


def _dot_func(f: Function) -> str:
    label = getattr(f, "label", type(f).__name__)
    lines = [f'{id(f)} [label="{label}", color=lightblue, style=filled, shape=box]\n']
    lines += [f"{id(x)} -> {id(f)}\n" for x in f.inputs]
    lines += [f"{id(f)} -> {id(y())}\n" for y in f.outputs if y() is not None]
    return "".join(lines)


def get_dot_graph(output: Variable, verbose: bool = True) -> str:
    """The graph that led to `output`, in the DOT language of graphviz."""
    text = _dot_var(output, verbose)
    functions = [] if output.creator is None else [output.creator]
    seen = set(map(id, functions))
    while functions:
        f = functions.pop()
        text += _dot_func(f)
        for x in f.inputs:
            text += _dot_var(x, verbose)
            if x.creator is not None and id(x.creator) not in seen:
                seen.add(id(x.creator))
                functions.append(x.creator)
    return "digraph g {\n" + text + "}"


def plot_dot_graph(output: Variable, verbose: bool = True, to_file: str = "graph.png") -> Any:
    """Draw the graph into a file by graphviz; a notebook gets the picture too.

    Without graphviz the DOT text is written beside, and a warning says what is missing.
    """
    text = get_dot_graph(output, verbose)
    stem, extension = os.path.splitext(to_file)
    dot = shutil.which("dot")
    if dot is None:
        path = stem + ".dot"
        with open(path, "w") as f:
            f.write(text)
        warnings.warn(
            f"graphviz is not installed (there is no program `dot`), so {to_file} was not drawn; "
            f"the graph is in {path}, for `dot {path} -T {extension[1:] or 'png'} -o {to_file}`",
            stacklevel=2,
        )
        return None
    command = [dot, "-T", extension[1:] or "png", "-o", to_file]
    subprocess.run(command, input=text.encode(), check=True)
    try:
        from IPython import display
    except ImportError:
        return None
    return display.Image(filename=to_file)


# -- sums and shapes ------------------------------------------------------------------------------


def sum_to(x: Array, shape: tuple[int, ...]) -> Any:
    """An array added up over its leading axes, and over those where `shape` has a 1.

    As in the original the other axes are not compared with `shape`: they stay as they are.
    """
    return compute(adding_to(x.shape, shape), x)


def adding_to(before: tuple[int, ...], shape: tuple[int, ...]) -> Callable[[Any], Any]:
    """The function that does so for a tensor of the shape `before`."""
    lead = len(before) - len(shape)
    axes = (*range(lead), *[lead + i for i, n in enumerate(shape) if n == 1])
    left = (*[1 if lead + i in axes else n for i, n in enumerate(before[lead:])],)
    return lambda t: t.sum(axes).reshape(left) if axes else t


def reshape_sum_backward(
    gy: Variable, x_shape: tuple[int, ...], axis: int | tuple[int, ...] | None, keepdims: bool
) -> Any:
    """The gradient of a sum with the axes back that the sum took away."""
    if axis is None or keepdims or not x_shape:
        return gy
    return gy.reshape(_kept(x_shape, axis))


def max_backward_shape(x: Array, axis: int | tuple[int, ...] | None) -> list[int]:
    """The shape of a maximum with the axes it was taken over left in, as ones."""
    return list(_kept(x.shape, axis))


def _kept(shape: tuple[int, ...], axis: int | tuple[int, ...] | None) -> tuple[int, ...]:
    axes = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    gone = {a % len(shape) for a in axes}
    return tuple([1 if i in gone else n for i, n in enumerate(shape)])


def logsumexp(x: Array, axis: int = 1) -> Any:
    """log(sum(exp(x))) of an array, without overflow; the axis stays."""
    return compute(rl.logsumexp, x, axis, keepdim=True)


# -- checks ---------------------------------------------------------------------------------------


def _raw(x: Operand) -> Any:
    return x.data if isinstance(x, Traced) else x


def array_equal(a: Operand, b: Operand) -> bool:
    """Whether two arrays or Variables are the same."""
    return np.array_equal(cuda.as_numpy(a), cuda.as_numpy(b))


def array_allclose(a: Operand, b: Operand, rtol: float = 1e-4, atol: float = 1e-5) -> bool:
    """Whether two arrays or Variables are nearly the same."""
    return np.allclose(cuda.as_numpy(a), cuda.as_numpy(b), rtol=rtol, atol=atol)


def numerical_grad(f: Callable[..., Any], x: Any, *args: Any, **kwargs: Any) -> Any:
    """The gradient of the sum of f(x) by central differences."""
    eps = 1e-4
    x = _raw(x)
    grad = cuda.get_array_module(x).zeros_like(x)
    for place in np.ndindex(x.shape):
        before = x[place].copy()
        x[place] = before + eps
        above = _raw(f(x, *args, **kwargs)).copy()
        x[place] = before - eps
        below = _raw(f(x, *args, **kwargs)).copy()
        x[place] = before
        grad[place] = (above - below).sum() / (2 * eps)
    return grad


def gradient_check(
    f: Callable[..., Any], x: Operand, *args: Any, rtol: float = 1e-4, atol: float = 1e-5, **kwargs: Any
) -> bool:
    """Whether backward agrees with central differences, in float64; prints both if not."""
    x = as_variable(x)
    x.data = x.data.astype(np.float64)
    expected = numerical_grad(f, x, *args, **kwargs)
    f(x, *args, **kwargs).backward()
    found = x.grad.data
    assert found.shape == expected.shape, f"{found.shape} is not {expected.shape}"
    if array_allclose(expected, found, rtol=rtol, atol=atol):
        return True
    print("\n========== FAILED (Gradient Check) ==========")
    print(f"Numerical Grad\n shape: {expected.shape}\n {str(expected.flatten())[1:60]}")
    print(f"Backprop Grad\n shape: {found.shape}\n {str(found.flatten())[1:60]}")
    return False


# -- sizes ----------------------------------------------------------------------------------------


def pair(x: int | tuple[int, int]) -> tuple[int, int]:
    """A number as (number, number); a pair as it is."""
    if isinstance(x, (int, np.integer)):
        return int(x), int(x)
    if isinstance(x, (tuple, list)) and len(x) == 2:
        return tuple(x)  # type: ignore[return-value]
    raise ValueError(f"expected a number or a pair of numbers, not {x!r}")


def get_conv_outsize(input_size: int, kernel_size: int, stride: int, pad: int) -> int:
    """The length of a convolution's output."""
    return (input_size + pad * 2 - kernel_size) // stride + 1


def get_deconv_outsize(size: int, k: int, s: int, p: int) -> int:
    """The length of a transposed convolution's output."""
    return s * (size - 1) + k - 2 * p


# -- files ----------------------------------------------------------------------------------------

cache_dir = os.path.join(os.path.expanduser("~"), ".dezero")


def show_progress(block_num: int, block_size: int, total_size: int) -> None:
    """A line that says how much of a download has come, for `urlretrieve`."""
    done = min(block_num * block_size / total_size, 1.0) if total_size > 0 else 1.0
    print(f"\r[{'#' * int(done * 30):.<30}] {done * 100:.2f}%", end="")


def get_file(url: str, file_name: str | None = None) -> str:
    """The path of a file in the cache, downloaded when it is not there yet."""
    path = os.path.join(cache_dir, file_name or url[url.rfind("/") + 1 :])
    if os.path.exists(path):
        return path
    from .. import hub

    os.makedirs(cache_dir, exist_ok=True)
    print("Downloading: " + os.path.basename(path))
    hub.download_url_to_file(url, path)
    return path
