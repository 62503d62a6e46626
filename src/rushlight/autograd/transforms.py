"""Functions that turn functions into their derivatives: grad, vjp, jvp, jacrev, hessian."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..base.trees import tree_flatten, tree_unflatten
from ..core.gradients import differentiate
from ..core.gradients.tape import AccumulateGrad
from ..core.modes import inference_mode
from ..core.tensor import Tensor
from ..core.views import current_edge
from ..operators.create.ranges import eye
from ..operators.shape.join import stack
from ..runtime.thread import here
from .batched import draws, vmap


class Inputs:
    """Arguments made differentiable for one transform: the chosen ones get leaves of their own."""

    def __init__(self, args: tuple, argnums: int | Sequence[int]) -> None:
        numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        for n in numbers:
            if not -len(args) <= n < len(args):
                raise RuntimeError(f"Got argnum={n}, but only {len(args)} positional inputs")
        chosen = [args[n] for n in numbers]
        leaves, self.spec = tree_flatten(chosen[0] if isinstance(argnums, int) else tuple(chosen))
        for x in leaves:
            if not isinstance(x, Tensor):
                raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
        # A tensor with a history (of an outer transform) keeps it behind a view of its own.
        with inference_mode(False):  # which records, too
            self.leaves = [
                x.view_as(x) if x.requires_grad else (x.clone() if x.is_inference() else x.detach()).requires_grad_()
                for x in leaves
            ]
        self.fresh = {current_edge(t)[0].seq for t, x in zip(self.leaves, leaves) if not x.requires_grad}
        rebuilt = tree_unflatten(self.leaves, self.spec)
        parts = [rebuilt] if isinstance(argnums, int) else list(rebuilt)
        self.args = list(args)
        for n, part in zip(numbers, parts):
            self.args[n] = part

    def alone(self, outputs: Sequence[Tensor]) -> bool:
        """Whether nothing but the fresh leaves stands behind the outputs."""
        stack_ = [e[0] for o in outputs if (e := current_edge(o)) is not None]
        seen = set()
        while stack_:
            node = stack_.pop()
            if node.seq in seen:
                continue
            seen.add(node.seq)
            if isinstance(node, AccumulateGrad) and node.seq not in self.fresh:
                return False
            stack_.extend(e[0] for e in node.edges if e is not None)
        return True

    def plain(self, outputs: list[Any]) -> list[Any]:
        """Outputs as the caller shall see them: without the history of the fresh leaves."""
        tensors = [o for o in outputs if isinstance(o, Tensor)]
        if here.grad and not self.alone(tensors):
            return outputs
        return [o.detach() if isinstance(o, Tensor) else o for o in outputs]

    def gradients(self, outputs: list[Any], seeds: Any, keep: bool = False) -> list[Tensor]:
        """The gradients of outputs in the leaves, zero where there is none."""
        live = [i for i, o in enumerate(outputs) if o.requires_grad]
        if not live:
            return [x.detach().new_zeros(x.shape) for x in self.leaves]
        given = None if seeds is None else [seeds[i] for i in live]
        outer = here.grad and not self.alone([outputs[i] for i in live])
        outer = outer or any(s is not None and s.requires_grad for s in given or ())
        with inference_mode(False):  # which records, too
            return list(
                differentiate.grad(
                    [outputs[i] for i in live],
                    self.leaves,
                    given,
                    create_graph=outer,
                    retain_graph=keep or outer,
                    allow_unused=True,
                    materialize_grads=True,
                )
            )


def _with_aux(result: Any, has_aux: bool) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            "Expected the function to return a tuple (output, aux) of two elements, since has_aux is True"
        )
    return result


def grad_and_value(func: Callable, argnums: Any = 0, has_aux: bool = False) -> Callable:
    """A function that returns the gradient of `func`, which gives a scalar, and its value.

    Args:
        func: returns a tensor with one element; with `has_aux`, a pair of it and something else.
        argnums: the argument, or a tuple of arguments, that is differentiated.
        has_aux: the result is then `(gradient, (value, aux))`.

    Raises:
        RuntimeError: if `func` does not return a scalar tensor.

    Example:
        >>> torch.func.grad_and_value(lambda x: (x**2).sum())(torch.tensor([1.0, 3.0]))
        (tensor([2., 6.]), tensor(10.))
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        inputs = Inputs(args, argnums)
        with inference_mode(False):  # which records, too
            out, aux = _with_aux(func(*inputs.args, **kwargs), has_aux)
        where = "grad_and_value(f)(*args): Expected f(*args) to return a "
        if not isinstance(out, Tensor):
            raise RuntimeError(f"{where}Tensor, got {type(out)}")
        if out.dim() != 0:
            raise RuntimeError(
                f"{where}scalar Tensor, got tensor with {out.dim()} dims. Maybe you wanted to use the "
                "vjp or jacrev APIs instead?"
            )
        gradients = tree_unflatten(inputs.gradients([out], None), inputs.spec)
        (value,) = inputs.plain([out])
        if not has_aux:
            return gradients, value
        parts, spec = tree_flatten(aux)
        return gradients, (value, tree_unflatten(inputs.plain(parts), spec))

    return wrapper


def grad(func: Callable, argnums: Any = 0, has_aux: bool = False) -> Callable:
    """A function that returns the gradient of `func`, which gives a scalar.

    Args:
        func: returns a tensor with one element; with `has_aux`, a pair of it and something else.
        argnums: the argument, or a tuple of arguments, that is differentiated.
        has_aux: the result is then `(gradient, aux)`.

    Raises:
        RuntimeError: if `func` does not return a scalar tensor.

    Example:
        >>> cube = lambda x: x**3
        >>> torch.func.grad(torch.func.grad(cube))(torch.tensor(2.0))
        tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradients, value = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return wrapper


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> Any:
    """`func(*primals)`, and a function from a vector to its product with the Jacobian.

    Args:
        func: takes tensors, returns a tensor or a structure of tensors.
        primals: its arguments.
        has_aux: `func` returns `(output, aux)`; then aux is a third result.

    Example:
        >>> value, pull = torch.func.vjp(torch.sin, torch.zeros(2))
        >>> pull(torch.tensor([1.0, 2.0]))
        (tensor([1., 2.]),)
    """
    inputs = Inputs(primals, tuple(range(len(primals))))
    with inference_mode(False):  # which records, too
        out, aux = _with_aux(func(*inputs.args), has_aux)
    outputs, spec = tree_flatten(out)
    _tensors_only("vjp", outputs)

    def pull(*cotangents: Any, retain_graph: bool = True, create_graph: Any = None) -> Any:
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        seeds, shape = tree_flatten(given)
        if shape != spec:
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be the same as pytree structure of outputs "
                f"to the function. cotangents: {shape}, primal output: {spec}"
            )
        return tree_unflatten(inputs.gradients(outputs, seeds, keep=True), inputs.spec)

    result = tree_unflatten(inputs.plain(outputs), spec)
    return (result, pull, aux) if has_aux else (result, pull)


def _tensors_only(name: str, outputs: list[Any]) -> None:
    for o in outputs:
        if not isinstance(o, Tensor):
            raise RuntimeError(
                f"{name}(f, *primals): Expected f(*primals) to return only tensors, got unsupported type {type(o)}"
            )


def jvp(func: Callable, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """`func(*primals)` and the product of its Jacobian with `tangents`, by two backward passes.

    Args:
        func: takes tensors, returns a tensor or a structure of tensors.
        primals, tangents: tuples of the same structure.
        strict: refuse outputs that do not depend on the inputs.
        has_aux: `func` returns `(output, aux)`; then aux is a third result.

    Raises:
        RuntimeError: if `primals` is not a tuple, or `tangents` is of another structure.

    Example:
        >>> torch.func.jvp(lambda x: x**2, (torch.tensor([1.0, 3.0]),), (torch.tensor([1.0, 0.5]),))
        (tensor([1., 9.]), tensor([2., 3.]))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    inputs = Inputs(primals, tuple(range(len(primals))))
    directions, shape = tree_flatten(tangents)
    if shape != inputs.spec:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. "
            f"primals and tangents were {inputs.spec} and {shape}."
        )
    with inference_mode(False):  # which records, too
        out, aux = _with_aux(func(*inputs.args), has_aux)
        outputs, spec = tree_flatten(out)
        _tensors_only("jvp", outputs)
        if strict and not all(o.requires_grad for o in outputs):
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. "
                "This is not allowed with strict=True."
            )
        products = pushed(inputs.leaves, outputs, directions)
    tangent = tree_unflatten(inputs.plain(products), spec)
    result = tree_unflatten(inputs.plain(outputs), spec)
    return (result, tangent, aux) if has_aux else (result, tangent)


def pushed(leaves: list[Tensor], outputs: list[Tensor], directions: list[Tensor]) -> list[Tensor]:
    """The Jacobian times a direction: the gradient, in a dummy v, of (v J) . direction."""
    dummies = [o.detach().new_zeros(o.shape).requires_grad_() for o in outputs]
    live = [i for i, o in enumerate(outputs) if o.requires_grad]
    if not live:
        return [d.detach() for d in dummies]
    pulled = differentiate.grad(
        [outputs[i] for i in live],
        leaves,
        [dummies[i] for i in live],
        create_graph=True,
        allow_unused=True,
        materialize_grads=True,
    )
    total: Any = sum(_inner(g, d) for g, d in zip(pulled, directions))
    if not total.requires_grad:
        return [d.detach() for d in dummies]
    return list(differentiate.grad(total, dummies, create_graph=True, allow_unused=True, materialize_grads=True))


def _inner(g: Tensor, d: Tensor) -> Tensor:
    """A product whose gradient in v is J d, where g = v J (for complex numbers: the adjoint of J times v)."""
    return (g.conj() * d).sum().real if g.is_complex() else (g * d).sum()


def linearize(func: Callable, *primals: Any) -> Any:
    """`func(*primals)`, and a function from tangents to their product with the Jacobian.

    Args:
        func: takes tensors, returns a tensor or a structure of tensors.
        primals: the point at which it is linearized.

    Example:
        >>> value, push = torch.func.linearize(lambda x: x**2, torch.tensor([1.0, 3.0]))
        >>> push(torch.tensor([1.0, 0.5]))
        tensor([2., 3.])
    """
    out = func(*primals)
    return out, lambda *tangents: jvp(func, primals, tangents)[1]


def jacrev(
    func: Callable,
    argnums: Any = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable:
    """A function that returns the Jacobian of `func`, row by row: shape (*output, *input).

    Args:
        func: takes tensors, returns a tensor or a structure of tensors.
        argnums: the argument, or a tuple of arguments, that is differentiated.
        has_aux: `func` returns `(output, aux)`; then the result is `(jacobian, aux)`.
        chunk_size: how many rows are computed at a time; None for all.

    Example:
        >>> torch.func.jacrev(lambda x: x**2)(torch.tensor([1.0, 3.0]))
        tensor([[2., 0.],
                [0., 6.]])
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        inputs = Inputs(args, argnums)
        with inference_mode(False):  # which records, too
            out, aux = _with_aux(func(*inputs.args, **kwargs), has_aux)
            outputs, spec = tree_flatten(out)
            _tensors_only("jacrev", outputs)
            blocks = [tree_unflatten(_rows(inputs, o, chunk_size), inputs.spec) for o in outputs]
        jacobian = tree_unflatten(blocks, spec)
        if not has_aux:
            return jacobian
        parts, shape = tree_flatten(aux)
        return jacobian, tree_unflatten(inputs.plain(parts), shape)

    return wrapper


def _rows(inputs: Inputs, out: Tensor, chunk: int | None) -> list[Tensor]:
    """The Jacobian of one output: a row for each of its elements, all of them at once."""
    n, shape = out._a.size, tuple(out._a.shape)
    if not n or not out.requires_grad or out.is_complex():
        return _row_by_row(inputs, out)
    seeds = eye(n, dtype=out.dtype, device=out.device).reshape(n, *shape)
    pull = vmap(lambda seed: tuple(inputs.gradients([out], [seed], keep=True)), chunk_size=chunk)
    return [g.reshape((*shape, *x._a.shape)) for g, x in zip(pull(seeds), inputs.leaves)]


def _row_by_row(inputs: Inputs, out: Tensor) -> list[Tensor]:
    rows: list[list[Tensor]] = [[] for _ in inputs.leaves]
    flat = out.reshape(-1)
    for i in range(flat.numel()):
        for row, g in zip(rows, inputs.gradients([flat[i]], None, keep=True)):
            row.append(g)
    made = []
    for row, x in zip(rows, inputs.leaves):
        shape = tuple(out.shape) + tuple(x.shape)
        made.append(stack(row).reshape(shape) if row else x.detach().new_zeros(shape))
    return made


def jacfwd(func: Callable, argnums: Any = 0, has_aux: bool = False, *, randomness: str = "error") -> Callable:
    """As `jacrev`, which calls `func` once: random numbers are drawn once, with `randomness="error"` none may be."""
    found = jacrev(func, argnums, has_aux=has_aux)

    @functools.wraps(func)
    def checked(*args: Any, **kwargs: Any) -> Any:
        with draws("error" if randomness == "error" else "different"):
            return found(*args, **kwargs)

    return checked


def hessian(func: Callable, argnums: Any = 0) -> Callable:
    """A function that returns the matrix of second derivatives.

    Args:
        func: returns a tensor with one element.
        argnums: the argument, or a tuple of arguments, that is differentiated.

    Example:
        >>> torch.func.hessian(lambda x: x[0] ** 2 * x[1])(torch.tensor([1.0, 3.0]))
        tensor([[6., 2.],
                [2., 0.]])
    """
    return jacrev(jacrev(func, argnums), argnums)
