"""`rushlight.ops` and `rushlight.library`: operators that other packages register in Python."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as rl
from rushlight import library
from rushlight.base.errors import NotYet


@pytest.fixture
def scale():
    @library.custom_op("tests::scale", mutates_args=())
    def scale(x: rl.Tensor, factor: float = 2.0) -> rl.Tensor:
        """x times a number."""
        return x * factor

    return scale


def test_what_is_missing_is_an_attribute_error_in_pytorchs_words():
    assert not hasattr(rl.ops.torchvision, "nms")
    with pytest.raises(AttributeError, match="'_OpNamespace' 'aten' object has no attribute 'nope'"):
        rl.ops.aten.nope
    assert "torchvision" not in dir(rl.ops)


def test_a_registered_function_is_found(scale):
    x = rl.tensor([1.0, 2.0])
    for call in (scale, rl.ops.tests.scale, rl.ops.tests.scale.default):
        assert call(x, factor=3.0).tolist() == [3.0, 6.0]
        assert call(x).tolist() == [2.0, 4.0]
    assert scale.__doc__ == "x times a number."
    assert "tests" in dir(rl.ops)
    with pytest.raises(TypeError):
        scale(x, 1.0, 2.0)


def test_triton_kernels_in_an_operator_are_launched_but_for_meta_tensors() -> None:
    """Triton itself is played by the test: tests/gpu/test_cuda_foreign.py has the real one."""
    launched = []

    class JITFunction:
        __module__ = "triton.runtime.jit"

        def __getitem__(self, grid):
            return lambda x, out, n, BLOCK: launched.append((grid, n, BLOCK)) or out.copy_(2 * x)

    @library.triton_op("tests::twice", mutates_args={})
    def twice(x: rl.Tensor) -> rl.Tensor:
        out = rl.empty_like(x)
        library.wrap_triton(JITFunction())[(1,)](x, out, n=x.numel(), BLOCK=16)
        return out

    assert rl.ops.tests.twice(rl.ones(3)).tolist() == [2.0] * 3 and launched == [((1,), 3, 16)]
    assert twice(rl.ones(3, device="meta")).shape == (3,) and len(launched) == 1
    with pytest.raises(RuntimeError, match=r"annotated with triton\.jit or triton\.autotune"):
        library.wrap_triton(twice)


def test_derivative(scale):
    x = rl.tensor([1.0, 2.0], requires_grad=True)
    y = scale(x)
    assert y.requires_grad
    assert "tests_scale" in y.grad_fn.name()
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        y.sum().backward()

    def setup(ctx, inputs, output):
        ctx.factor = inputs[1]

    library.register_autograd("tests::scale", lambda ctx, g: (g * ctx.factor, None), setup_context=setup)
    rl.ops.tests.scale(x, 5.0).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_rule_under_vmap(scale):
    asked = []

    def rule(info, in_dims, x, factor):
        asked.append((*info, *in_dims))
        return scale(x, factor), in_dims[0]

    library.register_vmap("tests::scale")(rule)
    library.register_autograd("tests::scale", lambda ctx, g: (g * 5, None))
    x = rl.ones(2, 3, requires_grad=True)
    out = rl.vmap(scale, in_dims=(1, None))(x, 5.0)
    assert out.shape == (3, 2) and asked == [(3, "error", 0, None)]
    out.sum().backward()
    assert x.grad.tolist() == [[5.0] * 3] * 2


def test_meta_and_devices(scale):
    x = rl.ones(3, device="meta")
    with pytest.raises(RuntimeError, match="no fake impl registered"):
        scale(x)
    library.register_fake(scale)(lambda x, factor=2.0: rl.empty_like(x))
    assert scale(x).shape == (3,) and scale(x).is_meta
    library.register_kernel("tests::scale", "cpu")(lambda x, factor=2.0: x + factor)
    assert scale(rl.zeros(1)).item() == 2.0
    only = library.custom_op("tests::only", lambda x: -x, mutates_args=(), device_types="cuda")
    with pytest.raises(NotImplementedError, match="Could not run 'tests::only' with arguments from the 'CPU' backend"):
        only(rl.zeros(1))


def test_what_writes_in_place():
    @library.custom_op("tests::increase", mutates_args={"x"})
    def increase(x: rl.Tensor) -> None:
        x.add_(1)

    x = rl.zeros(2)
    assert increase(x) is None
    assert x.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="requires grad"):
        increase(x.requires_grad_())


def test_what_is_refused():
    same = library.custom_op("tests::same", lambda x: x, mutates_args=())
    with pytest.raises(RuntimeError, match="must not also be an input"):
        same(rl.ones(1))
    with pytest.raises(ValueError, match="namespace::name"):
        library.custom_op("same", lambda x: x, mutates_args=())
    with pytest.raises(RuntimeError, match="operator tests::never does not exist"):
        library.register_fake("tests::never", lambda x: x)
    with pytest.raises(OSError, match="custom_op"):
        rl.ops.load_library("lib.so")


@pytest.mark.parametrize("name, says", [("onnx.dynamo_export", "one exporter")])
def test_refusals_say_what_to_do_instead(name: str, says: str):
    module, function = name.split(".")
    refuse = getattr(getattr(rl, module), function)
    with pytest.raises(NotYet, match=f"{name}: rushlight .*{says}"):
        refuse(None)
    assert refuse.__name__ == function and refuse.not_yet


def test_operators_that_are_named_before_they_are_implemented() -> None:
    library.define("test_named::twice", "(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="Could not run 'test_named::twice'"):
        rl.ops.test_named.twice(rl.ones(2))
    library.impl("test_named::twice", ["CPU"])(lambda x: x.detach() * 2)
    assert rl.ops.test_named.twice(rl.ones(2)).tolist() == [2, 2]
    assert rl.ops.test_named.twice.default(rl.ones(1)).tolist() == [2]
    fragment = library.Library("test_named", "FRAGMENT")
    assert fragment.define("cube(Tensor x) -> Tensor") == "cube"
    fragment.impl("cube", lambda x: x**3, "CompositeImplicitAutograd")
    x = rl.ones(2, requires_grad=True)
    rl.ops.test_named.cube(x).sum().backward()
    assert x.grad.tolist() == [3, 3]
    library.impl("test_named::later", "CPU", lambda x: x + 1)
    with pytest.raises(AttributeError):
        rl.ops.test_named.later(x)
    library.define("test_named::later", "(Tensor x) -> Tensor")
    assert rl.ops.test_named.later(rl.ones(1)).tolist() == [2]
    with pytest.raises(ValueError, match="Unsupported kind: NEW"):
        library.Library("test_named", "NEW")


def test_an_operator_of_a_schema_has_all_that_one_of_a_function_has() -> None:
    lib = library.Library("test_schema", "DEF")
    lib.define("scaled(Tensor x, float s=2.5, int[] dims=[1, 2], *, ScalarType? dtype=None, str mode='a') -> Tensor")
    seen = []

    def scaled(x, s=2.5, dims=(), *, dtype=None, mode="b"):
        seen.append((s, dims, dtype, mode))
        return x * s

    def setup(ctx, inputs, keyword_only_inputs, output):
        ctx.s = inputs[1]
        seen.append((len(inputs), keyword_only_inputs))

    library.impl("test_schema::scaled", "cpu", scaled)
    library.register_fake("test_schema::scaled", lambda x, *args, dtype=None, mode="a": rl.empty_like(x), lib=lib)
    library.register_autograd("test_schema::scaled", lambda ctx, g: (g * ctx.s, None, None), setup_context=setup)
    x = rl.ones(2, requires_grad=True)
    rl.ops.test_schema.scaled(x, dtype=rl.float64).sum().backward()
    assert x.grad.tolist() == [2.5, 2.5]
    assert seen == [(2.5, (), rl.float64, "b"), (3, {"dtype": rl.float64, "mode": "a"})]
    assert rl.ops.test_schema.scaled(x.to("meta"), 3.0).shape == (2,)
    library.register_vmap("test_schema::scaled", lambda info, dims, x, *rest, **named: (x * 7, dims[0]))
    assert rl.vmap(rl.ops.test_schema.scaled)(rl.ones(2)).tolist() == [7, 7]
    lib.define("add_(Tensor(a!) x, Tensor y) -> Tensor(a!)")
    lib.impl("add_", lambda x, y: x.add_(y), "CPU")
    assert rl.ops.test_schema.add_(y := rl.ones(2), y) is y and y.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="Tried to register an operator .* multiple times"):
        lib.define("add_(Tensor(a!) x, Tensor y) -> Tensor(a!)")


def _checked(name: str, fn: Any, fake: Any = None, **options: Any) -> Any:
    op = library.custom_op(f"checked::{name}", fn, mutates_args=())
    if fake is not None:
        op.register_fake(fake)
    found = library.opcheck(op, (rl.ones(2),), raise_exception=False, **options)
    return {check: result if result == "SUCCESS" else "failed" for check, result in found.items()}


def test_opcheck_tries_what_an_operator_promises() -> None:
    def good(x: rl.Tensor) -> rl.Tensor:
        return x.sin()

    def writes(x: rl.Tensor) -> rl.Tensor:
        x.add_(1)
        return x.clone()

    def longer(x: rl.Tensor) -> rl.Tensor:
        return rl.cat([x, x])

    whole = dict.fromkeys(
        ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"), "SUCCESS"
    )
    assert _checked("good", good, rl.empty_like) == whole
    assert _checked("writes", writes, rl.empty_like)["test_schema"] == "failed"
    assert _checked("longer", longer, rl.empty_like)["test_faketensor"] == "failed"
    assert _checked("bare", good, test_utils="test_faketensor") == {"test_faketensor": "failed"}
    with pytest.raises(Exception, match="test_schema failed"):
        library.opcheck(library.custom_op("checked::raises", writes, mutates_args=()), (rl.ones(1),))
