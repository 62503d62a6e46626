"""Derivatives of functions: vjp, jvp, jacobian, hessian, hvp and vhp by repeated backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.config import settings
from ..core.gradients.differentiate import grad
from ..core.modes import enable_grad
from ..core.tensor import Tensor
from ..operators.shape.join import stack

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


# What strict mode says: of a gradient that is missing, and of one that does not depend on the inputs.
_STRICT = "This is not allowed in strict mode"
_NO_OUTPUT = "The output of the user-provided function is independent of input {i}. " + _STRICT + "."
_NO_JACOBIAN = "The jacobian of the user-provided function is independent of input {i}. " + _STRICT
_NO_HESSIAN = "The hessian of the user-provided function is independent of input {i}. " + _STRICT
_WITH_GRAPH = " when create_graph=True."
_LINEAR = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to "
    "input {i} is independent of the input. This is not allowed in strict mode. You should ensure that your "
    "function is twice differentiable and that the jacobian depends on the inputs (this would be violated by "
    "a linear function for example)."
)


def _as_tuple(value: Any, what: str, name: str) -> tuple[tuple[Tensor, ...], bool]:
    """Tensors as a tuple, and whether they were one already."""
    many = isinstance(value, tuple)
    values = value if many else (value,)
    for i, v in enumerate(values):
        if not isinstance(v, Tensor):
            if many:
                raise TypeError(
                    f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the "
                    f"value at index {i} has type {type(v)}."
                )
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the given "
                f"{what} has type {type(v)}."
            )
    return values, many


class _CallOfInputs:
    """A function called on inputs of its own, and what came out."""

    def __init__(self, name: str, func: Callable, inputs: Any, create_graph: bool) -> None:
        self.name = name
        self.create_graph = create_graph
        given, self.many_inputs = _as_tuple(inputs, "inputs", name)
        with enable_grad():
            if create_graph:  # a tensor with a history keeps it behind a view of its own
                self.inputs = tuple(x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in given)
            else:
                self.inputs = tuple(x.detach().requires_grad_() for x in given)
            out = func(*self.inputs)
        outputs, self.many_outputs = _as_tuple(out, "outputs of the user-provided function", name)
        self.outputs = outputs

    def strictly(self) -> None:
        """Raise where an output has nothing to do with the inputs."""
        for i, out in enumerate(self.outputs):
            if not out.requires_grad:
                raise RuntimeError(
                    f"Output {i} of the user-provided function does not require gradients. The outputs "
                    "must be computed in a differentiable manner from the input when running in strict "
                    "mode."
                )

    def only_scalar(self) -> Tensor:
        if self.many_outputs:
            raise RuntimeError(f"The function given to {self.name} should return a single Tensor")
        if self.outputs[0].numel() != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {self.name} should contain a single element"
            )
        return self.outputs[0].reshape(())

    def vector(self, v: Any, like: tuple, many: bool, what: str) -> tuple[Tensor, ...]:
        """The vector of a product, in the shapes of `like`."""
        if v is None:
            if len(like) != 1 or like[0].numel() != 1:
                raise RuntimeError(f"The vector v can only be None if {what} a single Tensor with a single element.")
            return (like[0].detach().new_ones(like[0].shape),)
        vs, _ = _as_tuple(v, "v", self.name)
        if len(vs) != len(like):
            if not many:
                raise RuntimeError("The given v should contain a single Tensor.")
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vs)}.")
        for i, (a, b) in enumerate(zip(vs, like)):
            if a.shape != b.shape:
                entry = f"Entry {i} in v" if many else "v"
                sizes = [f"{settings.module}.Size({list(t.shape)})" for t in (b, a)]
                raise RuntimeError(f"{entry} has invalid size: should be {sizes[0]} but got {sizes[1]}.")
        return vs

    def gradients(
        self, outputs: tuple, seeds: Any, create_graph: bool, missing: str = "", constant: str = ""
    ) -> tuple[Tensor, ...]:
        """Gradients of outputs in the inputs; zeros where there is none.

        In strict mode `missing` and `constant` are the errors where there is none, and where it has no history.
        """
        live = [i for i, o in enumerate(outputs) if o.requires_grad]
        found: tuple = (None,) * len(self.inputs)
        if live:
            chosen = None if seeds is None else [seeds[i] for i in live]
            found = grad(
                [outputs[i] for i in live],
                self.inputs,
                chosen,
                retain_graph=True,
                create_graph=create_graph,
                allow_unused=True,
            )
        for i, g in enumerate(found):
            wrong = missing if g is None else constant if not g.requires_grad else ""
            if wrong:
                raise RuntimeError(wrong.format(i=i))
        pairs = zip(self.inputs, found)
        return tuple(x.detach().new_zeros(x.shape) if g is None else g for x, g in pairs)

    def finish(self, values: tuple, many: bool) -> Any:
        made = values if self.create_graph else tuple(v.detach() for v in values)
        return made if many else made[0]

    def value(self) -> Any:
        return self.finish(self.outputs, self.many_outputs)


def vjp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """`func(inputs)` and the product of `v` with its Jacobian.

    Args:
        func: takes tensors, returns a tensor or a tuple of tensors.
        inputs: a tensor, or a tuple of tensors.
        v: of the shape of the outputs; may be left out where there is one output with one element.
        create_graph: let the results have a graph.
        strict: raise where an output does not depend on an input.

    Example:
        >>> torch.autograd.functional.vjp(torch.exp, torch.zeros(2), torch.tensor([1.0, 2.0]))
        (tensor([1., 1.]), tensor([1., 2.]))
    """
    call = _CallOfInputs("vjp", func, inputs, create_graph)
    if strict:
        call.strictly()
    returned = "the user-provided function returns"
    seeds = call.vector(v, call.outputs, call.many_outputs, returned)
    errors = (_NO_OUTPUT, create_graph * (_NO_JACOBIAN + _WITH_GRAPH)) if strict else ()
    with enable_grad():
        products = call.gradients(call.outputs, seeds, create_graph, *errors)
    return call.value(), call.finish(products, call.many_inputs)


def jvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """As `vjp`: `func(inputs)` and the product of its Jacobian with `v`, which has the shape of the inputs, by two backward passes."""
    call = _CallOfInputs("jvp", func, inputs, create_graph)
    if strict:
        call.strictly()
    taken = "the input to the user-provided function is"
    vs = call.vector(v, call.inputs, call.many_inputs, taken)
    with enable_grad():
        dummies = tuple(o.detach().new_zeros(o.shape).requires_grad_() for o in call.outputs)
        fixed = f"The gradient with respect to input {{i}} is independent of the inputs of the user-provided function. {_STRICT}."
        pulled = call.gradients(call.outputs, dummies, True, *((_NO_OUTPUT, fixed) if strict else ()))
        total: Any = sum((g * w).sum() for g, w in zip(pulled, vs))
        if not total.requires_grad:
            products = tuple(d.detach() for d in dummies)
        else:
            products = grad(
                total, dummies, create_graph=create_graph, retain_graph=True, allow_unused=True, materialize_grads=True
            )
        if strict and create_graph and not all(p.requires_grad for p in products):
            at = [p.requires_grad for p in products].index(False)
            raise RuntimeError((_NO_JACOBIAN + _WITH_GRAPH).format(i=at))
    return call.value(), call.finish(products, call.many_outputs)


def jacobian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of `func` at `inputs`, of shape (*output, *input); a block for each pair of several.

    Args:
        func: takes tensors, returns a tensor or a tuple of tensors.
        inputs: a tensor, or a tuple of tensors.
        create_graph: let the result have a graph.
        strict: raise where an output does not depend on an input.
        vectorize, strategy: which of PyTorch's ways; here rows are computed one after the other by backward.

    Raises:
        NotImplementedError: for the strategy "forward-mode" without `vectorize`, or with `create_graph`.
        RuntimeError: for `strict` with `vectorize` or with the strategy "forward-mode".

    Example:
        >>> torch.autograd.functional.jacobian(lambda x: x**2, torch.tensor([1.0, 3.0]))
        tensor([[2., 0.],
                [0., 6.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has '
            'more outputs than inputs, "forward-mode" tends to be more performant.'
        )
    forward, name = strategy == "forward-mode", f"{settings.module}.autograd.functional.jacobian"
    if forward and create_graph:
        raise NotImplementedError(
            f'{name}: `create_graph=True` and `strategy="forward-mode"` are not supported together (yet).'
        )
    if strict and (forward or vectorize):
        other = '`strategy="forward-mode"`' if forward else "`vectorized=True`"
        raise RuntimeError(f"{name}: `strict=True` and {other} are not supported together.")
    if forward and not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is"
            "only implemented for `vectorize=True`."
        )
    call = _CallOfInputs("jacobian", func, inputs, create_graph)
    if strict:
        call.strictly()
    with enable_grad():
        blocks = tuple(_blocks(call, k, strict) for k in range(len(call.outputs)))
    rows = tuple(call.finish(row, call.many_inputs) for row in blocks)
    return rows if call.many_outputs else rows[0]


def _blocks(call: _CallOfInputs, k: int, strict: bool) -> tuple[Tensor, ...]:
    """The derivatives of output k in every input."""
    out = call.outputs[k]
    rows: list[list[Tensor]] = [[] for _ in call.inputs]
    flat = out.reshape(-1)
    errors: tuple[str, ...] = ()
    if strict:
        missing = f"Output {k} of the user-provided function is independent of input {{i}}. {_STRICT}."
        errors = missing, call.create_graph * (_NO_JACOBIAN + _WITH_GRAPH).format(i=k)
    for i in range(flat.numel()):
        for row, g in zip(rows, call.gradients((flat[i],), None, call.create_graph, *errors)):
            row.append(g)
    shapes = [tuple(out.shape) + tuple(x.shape) for x in call.inputs]
    made = zip(rows, shapes, call.inputs)
    return tuple(stack(r).reshape(s) if r else x.detach().new_zeros(s) for r, s, x in made)


def hessian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """As `jacobian`: the second derivatives of a function whose result has one element.

    Args:
        outer_jacobian_strategy: the `strategy` of the Jacobian of the gradient.
    """
    _, many = _as_tuple(inputs, "inputs", "hessian")

    def gradient(*xs: Tensor) -> Any:
        call = _CallOfInputs("hessian", func, xs, create_graph=True)
        if strict:
            call.strictly()
        errors = (_LINEAR, _LINEAR) if strict else ()
        gs = call.gradients((call.only_scalar(),), None, True, *errors)
        return gs if many else gs[0]

    return jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


def hvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """As `vjp`: `func(inputs)`, one element, and the product of its Hessian with `v`, which has the shape of the inputs."""
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def vhp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """As `hvp`: `v` times the Hessian, instead of the Hessian times `v`; it is symmetric."""
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def _hessian_product(name: str, func: Callable, inputs: Any, v: Any, create_graph: bool, strict: bool) -> Any:
    call = _CallOfInputs(name, func, inputs, create_graph)
    taken = "the input to the user-provided function is"
    vs = call.vector(v, call.inputs, call.many_inputs, taken)
    errors: list[tuple[str, ...]] = [(), ()]
    if strict:
        call.strictly()
        errors = [(_NO_OUTPUT, _LINEAR), (_NO_JACOBIAN + ".", create_graph * (_NO_HESSIAN + _WITH_GRAPH))]
    with enable_grad():
        gs = call.gradients((call.only_scalar(),), None, True, *errors[0])
        total = sum((g * w).sum() for g, w in zip(gs, vs))
        products = call.gradients((total,), None, create_graph, *errors[1])
    return call.value(), call.finish(products, call.many_inputs)
