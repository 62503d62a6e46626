"""What PyTorch's own tests of autograd found: a line for each cause, run without them."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
from rushlight.autograd import Function, forward_ad
from rushlight.autograd.graph import allow_mutation_on_saved_tensors


class Product(Function):
    @staticmethod
    def forward(ctx, x, y, z):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x, y)
        return x * y * z

    @staticmethod
    def jvp(ctx, dx, dy, _):
        x, y = ctx.saved_tensors
        return 4 * (dx * y + x * dy)


def function(forward, jvp, dirty=False, fixed=False):
    """A Function of one input."""

    def run(ctx, x):
        out = forward(x)
        if dirty:
            ctx.mark_dirty(out)
        if fixed:
            ctx.mark_non_differentiable(out)
        return out

    return type("F", (Function,), {"forward": staticmethod(run), "jvp": staticmethod(lambda ctx, dx: jvp(dx))})


def test_inputs_without_a_tangent_have_zeros_in_jvp_and_saved_tensors_are_those_for_forward():
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.tensor(2.0), torch.tensor(1.0))
        out = Product.apply(x, torch.tensor(3.0), 4)
        assert forward_ad.unpack_dual(out).tangent.item() == 12.0


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (function(lambda x: x, lambda d: d), "the jvp is not returning a view"),
        (function(lambda x: x[:1], lambda d: d.clone()[:1]), "not returning a view of the"),
        (function(lambda x: x.mul_(2), lambda d: d * 2, dirty=True), "gradient inplace"),
        (function(lambda x: x.mul_(2), lambda d: d, dirty=True), "gradient inplace"),
        (function(lambda x: x * 2, lambda d: d, fixed=True), "should return None at that position"),
    ],
)
def test_a_jvp_does_to_tangents_what_forward_does_to_memory(f, said):
    with forward_ad.dual_level(), pytest.raises(RuntimeError, match=said):
        f.apply(forward_ad.make_dual(torch.ones(2), torch.ones(2)))


def test_saved_tensors_may_be_overwritten_in_a_block():
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    with allow_mutation_on_saved_tensors() as held:
        b = a.clone()
        out, part = (b**2).sum(), (b[:1] ** 3).sum()
        b.sin_()
        assert len(held.cloned) == 2
        (out + part).backward()
        assert not held.cloned
        late = (a * a).sum()
    assert a.grad.tolist() == [5.0, 4.0]
    with pytest.raises(AssertionError, match="outside of the"):
        late.backward()


def test_attributes_of_a_class_of_tensors_are_those_of_tensor():
    class Told(torch.Tensor):
        told: list = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.told.append(func.__name__)
            return torch.overrides.redispatch_function(func, types, args, kwargs)

    x = torch.ones(2).as_subclass(Told)
    assert type(x.mul(2)) is torch.Tensor
    assert x.size() == (2,)
    assert Told.told == ["mul", "size"]
    assert Told.size is torch.Tensor.size
    assert Told.requires_grad is torch.Tensor.requires_grad


def test_memory_of_numpy_between_elements_is_refused():
    odd = np.frombuffer(bytes(40), np.dtype([("byte", "u1"), ("x", "f4")]))["x"]
    with pytest.raises(ValueError, match="strides not a multiple of the element byte size"):
        torch.from_numpy(odd)


def test_gradcheck_wants_doubles_outputs_of_one_shape_and_no_gradient_where_there_is_none():
    x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    with pytest.raises(AssertionError, match="same shape when inputs are perturbed"):
        torch.autograd.gradcheck(lambda x: torch.cat([x, x]) if (x >= 1).all() else x, x)
    with pytest.raises(RuntimeError, match="expected to be zero"):
        torch.autograd.gradcheck(lambda x: x.detach() * 1, x)
    with pytest.raises(RuntimeError, match="stride 0"):
        torch.autograd.gradcheck(lambda x: x * 1, x.expand(2))
    with pytest.warns(UserWarning, match="not a double precision"):
        torch.autograd.gradcheck(lambda x: x * 1, x.detach().float().requires_grad_(), atol=0.1)
    kinds = {"check_forward_ad": True, "check_batched_forward_grad": True}
    assert torch.autograd.gradcheck(lambda x: (x.sin(), x * 2), x, **kinds)


def test_the_rank_of_a_hermitian_matrix_is_that_of_its_lower_half():
    x = torch.tensor([[1.0, 5.0], [1.0, 1.0]])
    assert torch.linalg.matrix_rank(x, hermitian=True) == 1
    assert torch.linalg.matrix_rank(x) == 2


def test_forward_mode_has_one_level():
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.ones(1), torch.ones(1), level=0)
        assert forward_ad.unpack_dual(x, level=-1).tangent is None
        with pytest.raises(RuntimeError, match="there is no level 1"):
            forward_ad.unpack_dual(x, level=1)


def test_transforms_record_inside_of_inference_mode():
    with torch.inference_mode():
        x = torch.tensor([1.0, 2.0])
        assert torch.func.grad(lambda x: (x**2).sum())(x).tolist() == [2.0, 4.0]
        assert torch.func.vjp(lambda x: x**2, x)[1](torch.ones(2))[0].tolist() == [2.0, 4.0]
        assert torch.func.jacrev(lambda x: x**2)(x).diagonal().tolist() == [2.0, 4.0]
        assert torch.func.jvp(lambda x: x**2, (x,), (x,))[1].tolist() == [2.0, 8.0]
