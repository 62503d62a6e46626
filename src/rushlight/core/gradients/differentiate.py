"""`backward` and `grad` as users call them: seeds, checks, errors; the walk itself is the tape's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...base.bounded import Bounded
from ...base.shapes import Size
from ...runtime import devices
from ...runtime.batch.arrays import BatchedArray, Level, ValuesWanted, open_batched, samples
from ...runtime.door import KERNELS, run
from ...runtime.sparse_array import SparseArray
from ...runtime.thread import PARTS, here
from ...runtime.wrapped import WrappedArray, answer
from ..op import OPS, OpNode
from ..tensor import Tensor, tensor_over
from ..views import NOWHERE, current_edge
from . import tape
from .mapped import enter, leave


class GradientEdge(NamedTuple):
    """Where in a graph the gradient of a tensor arrives: a node, and which of its outputs.

    `grad` and `backward` take one instead of the tensor, which need not be kept.

    Args:
        node: the tensor's `grad_fn`, or the node that adds to its `.grad`.
        output_nr: which of the outputs of `node` the tensor is.
        ownership_token: accepted, and not needed: a node keeps its graph.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> edge = torch.autograd.graph.get_gradient_edge(x)
        >>> torch.autograd.grad((x * 3).sum(), edge)
        (tensor([3., 3.]),)
    """

    node: Any
    output_nr: int
    ownership_token: Any = None


def _as_tuple(value: object) -> tuple:
    if isinstance(value, (list, tuple)):
        return (value,) if isinstance(value, GradientEdge) else tuple(value)
    if isinstance(value, (Tensor, str)) or not hasattr(value, "__iter__"):
        return (value,)
    return tuple(value)  # `model.parameters()`, and what else can be gone through


def _edge_of(value: Any) -> Any:
    """Where a tensor hangs in its graph, or a `GradientEdge` of it; AttributeError for everything else."""
    return value[:2] if isinstance(value, GradientEdge) else current_edge(value)


def _strangers(values: Sequence[Any]) -> list[Any]:
    """Those of `values` that are no tensors nor edges; called when one of them caused an error."""
    return [v for v in values if not isinstance(v, (Tensor, GradientEdge))]


def _seeds(outputs: Sequence[Tensor], gradients: Sequence[Any], reuse: bool) -> list[Any]:
    """The starting gradient of each output: given, or one for a scalar."""
    seeds: list[Any] = []
    for out, g in zip(outputs, gradients):
        if g is None:
            if current_edge(out) is None:
                seeds.append(None)
                continue
            if out._a.size != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if out._a.dtype.kind != "f" and not out.is_floating_point():
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {out.dtype}")
            seeds.append(one_beside(out, reuse))
        else:
            if not isinstance(g, Tensor):
                raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
            if g._a.shape != out._a.shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[0] has a shape of {Size(g._a.shape)} and "
                    f"output[0] has a shape of {Size(out._a.shape)}."
                )
            seeds.append(g if g._a.dtype == out._a.dtype else g.to(out.dtype))
    return seeds


_ones: dict[tuple, Tensor] = Bounded(64)


def one_beside(out: Tensor, reuse: bool) -> Tensor:
    """A tensor of one on the device of `out`: `new_ones` without its checks, which cost more than the kernel.

    Derivatives of losses only read it, so the tensor of the last pass is used again, unless a hook got hold of
    it and changed it.
    """
    a = out._a
    if a.__class__ is WrappedArray:
        return answer.of_tensor("ones_like.default", out)
    node = out._edge[0]
    if not (reuse and isinstance(node, OpNode) and node.op.new_gradients):
        return _new_one(a, devices.device_of(a), out.dtype)
    # A program has its own; a loop's tracer takes it for an array that stays.
    if here.state & PARTS and (here.tracer is None or here.recorder is not None):
        return _new_one(a, devices.device_of(a), out.dtype)
    if node.pre_hooks or node.hooks:
        return _new_one(a, devices.device_of(a), out.dtype)
    index = None if a.__class__ is np.ndarray else devices.device_of(a).index
    key = (a.shape, a.dtype, a.__class__, index)
    found = _ones.get(key)
    if found is None or found._version:
        found = _ones[key] = _new_one(a, devices.device_of(a), out.dtype)
    return found


def key_of_one(t: Tensor) -> tuple | None:
    """By which `is_usual_one` knows a tensor that a pass began with which nothing was said about; None for others."""
    return next((key for key, one in _ones.items() if one is t), None)


def is_usual_one(t: Tensor, key: tuple) -> bool:
    """Whether the next such pass would begin with this tensor, too."""
    return _ones.get(key) is t and not t._version


def _new_one(a: Any, place: Any, dtype: Any) -> Tensor:
    attrs = {"device": place, "size": a.shape, "value": 1, "dtype": dtype}
    return tensor_over(run(KERNELS["full"], a.__class__, (), attrs), a.__class__)


def _roots(outputs: tuple, given: Sequence[Any], reuse: bool) -> list[tuple[Any, Any]]:
    """The edges where a backward pass begins, each with the gradient that it begins with."""
    roots = []
    try:
        for i, (out, g) in enumerate(zip(outputs, _seeds(outputs, given, reuse))):
            edge = current_edge(out)
            if edge is None or edge is NOWHERE:
                raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
            roots.append((edge, g))
    except AttributeError:
        if _strangers(outputs):
            raise AssertionError("Expected output to be a torch.Tensor") from None
        if not any(isinstance(out, GradientEdge) for out in outputs):
            raise
        return [_root(out, g, reuse) for out, g in zip(outputs, given)]
    return roots


def _root(out: Any, g: Any, reuse: bool) -> tuple[Any, Any]:
    """One tensor or `GradientEdge`, and the gradient that it begins with."""
    if not isinstance(out, GradientEdge):
        return _roots((out,), (g,), reuse)[0]
    if g is None:
        raise RuntimeError(
            "a GradientEdge does not know the shape of its tensor: give its gradient (grad_outputs=, grad_tensors=)"
        )
    return out[:2], g


def _differentiated(t: Any) -> Any:
    """The tensor whose edge is meant: a sparse tensor is differentiated by its values."""
    return t._v if t._a.__class__ is SparseArray else t


def _values(inputs: Any, asked: str) -> Any:
    """The values where the inputs have names."""
    if not isinstance(inputs, Mapping):
        return inputs
    if inputs.__class__ is not dict:
        raise TypeError(
            f"`inputs` argument to `{asked}()` must be a dict, not {type(inputs).__name__}. Other Mapping types are "
            "not supported."
        )
    return tuple(inputs.values())


def _edges(inputs: tuple) -> list[Any]:
    """Where each input hangs in its graph."""
    try:
        edges = [current_edge(_differentiated(t)) for t in inputs]
        return [(tape.AccumulateGrad(t), 0) if edge is NOWHERE else edge for t, edge in zip(inputs, edges)]  # not used
    except AttributeError:
        strangers = _strangers(inputs)
        if not strangers:
            return [_edge_of(t) for t in inputs]
        kind = type(strangers[0]).__name__
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {kind}") from None


def backward(
    tensors: Tensor | GradientEdge | Iterable[Tensor | GradientEdge],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Tensor | Sequence[Tensor | None] | None = None,
    inputs: Tensor | GradientEdge | Iterable[Tensor | GradientEdge] | None = None,
) -> None:
    """Accumulate the gradients of `tensors` into the leaves of their graph.

    Args:
        tensors: one tensor or several; each has one element, or a gradient of its own in
        grad_tensors: gradients of the shapes of `tensors`.
        retain_graph: keep what the graph saved, so that it can be gone through again.
        create_graph: let the gradients themselves have a graph, for second derivatives.
        grad_variables: an old name of `grad_tensors`; not used.
        inputs: fill the `.grad` of these alone.

    Raises:
        RuntimeError: if a tensor with several elements has no gradient, or the graph was gone through before.

    Example:
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> torch.autograd.backward([(x**2).sum(), x.sum()])
        >>> x.grad
        tensor([3., 5.])
    """
    outputs = (tensors,) if tensors.__class__ is Tensor else _as_tuple(tensors)
    given = _as_tuple(grad_tensors) if grad_tensors is not None else (None,) * len(outputs)
    if len(given) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(given)} gradients")
    keep = create_graph if retain_graph is None else retain_graph
    wanted = None
    if inputs is not None:
        targets = _as_tuple(_values(inputs, "backward"))
        if not targets:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        _edges(targets)
        for t in targets:
            if not (isinstance(t, GradientEdge) or (t.is_leaf and t.requires_grad)):
                t.retain_grad()
        wanted = _edges(targets)
    tape.backward(_roots(outputs, given, not create_graph), keep_graph=keep, create_graph=create_graph, inputs=wanted)


def _backward_from(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | GradientEdge | Iterable[Tensor | GradientEdge] | None = None,
) -> None:
    """Compute the gradients of this tensor and add them to the `.grad` of the leaves it was made from.

    Args:
        gradient: the gradient of this tensor, of its shape; not needed for a tensor with one
            element, where it is 1.
        retain_graph: keep what was saved for a second `backward`; False by default.
        create_graph: record the computation of the gradients too, for derivatives of higher
            order.
        inputs: add to the `.grad` of these tensors only.

    Raises:
        RuntimeError: if nothing was recorded, if `gradient` is missing, or if the saved values
            are gone because `backward` ran before.

    Example:
        >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> (w ** 2).sum().backward()
        >>> w.grad
        tensor([2., 4.])
    """
    tracer = here.tracer
    if tracer is not None and tracer.awake and gradient is retain_graph is inputs is None:
        if create_graph is False and self.__class__ is Tensor and tracer.backward_of(self):
            return
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


_backward_from.__name__, _backward_from.__qualname__ = "backward", "Tensor.backward"
Tensor.backward = _backward_from  # type: ignore[method-assign]


def grad(
    outputs: Tensor | GradientEdge | Iterable[Tensor | GradientEdge],
    inputs: Tensor | GradientEdge | Iterable[Tensor | GradientEdge],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:
    """The gradients of `outputs` with respect to `inputs`, without touching any `.grad`.

    Args:
        outputs: one tensor or several; each has one element, or a gradient of its own in
        grad_outputs: gradients of the shapes of `outputs`.
        inputs: one tensor or several, anywhere in the graph; those of a dict give a dict of gradients.
        retain_graph: keep what the graph saved, so that it can be gone through again.
        create_graph: let the gradients themselves have a graph, for second derivatives.
        only_inputs: accepted and not needed.
        allow_unused: give None for an input that the outputs do not depend on, instead of raising;
        materialize_grads: or give zeros.
        is_grads_batched: `grad_outputs` have one more dimension in front; one result for each slice.

    Raises:
        RuntimeError: if an input does not require gradients, or the outputs do not depend on it.

    Example:
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> (first,) = torch.autograd.grad(x**3, x, create_graph=True)
        >>> first.item(), torch.autograd.grad(first, x)
        (27.0, (tensor(18.),))
    """
    if isinstance(inputs, Mapping):
        values = _values(inputs, "grad")
        asked = (grad_outputs, retain_graph, create_graph, only_inputs, allow_unused)
        found = grad(outputs, values, *asked, is_grads_batched, materialize_grads)
        return dict(zip(inputs, found))  # type: ignore[return-value]
    outs, ins = _as_tuple(outputs), _as_tuple(inputs)
    if is_grads_batched:
        options = (create_graph, allow_unused, materialize_grads)
        return _batched(outs, ins, _as_tuple(grad_outputs), retain_graph, *options)
    given = _as_tuple(grad_outputs) if grad_outputs is not None else (None,) * len(outs)
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if not ins:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    if len(given) != len(outs):
        raise RuntimeError(f"got {len(outs)} tensors and {len(given)} gradients")
    keep = create_graph if retain_graph is None else retain_graph
    edges = _edges(ins)
    if None in edges:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    results = tape.backward(
        _roots(outs, given, not create_graph),
        keep_graph=keep,
        create_graph=create_graph,
        inputs=edges,
        accumulate=False,
    )
    assert results is not None
    pairs = enumerate(zip(ins, results))
    return tuple(_present(i, t, g, allow_unused, materialize_grads) for i, (t, g) in pairs)


def _batched(
    outs: tuple,
    ins: tuple,
    seeds: tuple,
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool | None,
    materialize: bool,
) -> tuple[Any, ...]:
    """One backward pass for each slice of the seeds along their first dim, the results stacked."""
    keep = create_graph if retain_graph is None else retain_graph
    for i, (out, s) in enumerate(zip(outs, seeds)):
        if s is not None and s._a.shape[1:] != out._a.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: grad_output[{i}] has a shape of {Size(s._a.shape)} and "
                f"output[{i}] has a shape of {Size(out._a.shape)}. If you only want some tensors in `grad_output` to be "
                "considered batched, consider using vmap."
            )
    n = next(s._a.shape[0] for s in seeds if s is not None)
    options = (create_graph, True, allow_unused, False, materialize)
    try:
        return _at_once(n, outs, ins, seeds, (keep, *options))
    except ValuesWanted:
        if not keep:
            raise
    stack = OPS["stack"]
    rows = []
    for i in range(n):
        one = tuple(None if s is None else s[i] for s in seeds)
        last = i == n - 1
        rows.append(grad(outs, ins, one, keep or not last, *options))
    return tuple(None if column[0] is None else stack(*column, dim=0) for column in zip(*rows))


def _at_once(n: int, outs: tuple, ins: tuple, seeds: tuple, options: tuple) -> tuple[Any, ...]:
    """One backward pass with the slices of the seeds as samples."""
    if here.tracer is not None:
        here.tracer.interrupt("gradients are computed for several seeds at once")
    open_batched()
    level, before = Level(n, "different"), here.vmaps
    here.vmaps = (*before, level)
    try:
        given = tuple([None if s is None else enter(s, level) for s in seeds])
        found = grad(outs, ins, given, *options)
        return tuple([None if g is None else leave(g, level) for g in found])
    finally:
        here.vmaps, level.open = before, False


def _present(i: int, t: Any, g: Any, allow_unused: bool | None, materialize: bool) -> Any:
    if g is not None:
        if g._a.__class__ is BatchedArray:
            g = samples.summed(g, t)
        sparse = not isinstance(t, GradientEdge) and t._a.__class__ is SparseArray
        return t._gradient(g) if sparse else g
    if materialize:
        if isinstance(t, GradientEdge):
            raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
        return t.detach().new_zeros(t._a.shape)
    if not allow_unused:
        raise RuntimeError(
            f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set "
            "allow_unused=True if this is the desired behavior."
        )
    return None
