"""What scripts of all kinds printed or raised otherwise than in PyTorch."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import rushlight as rl
from rushlight.base.config import settings

torch = pytest.importorskip("torch")


def told(call):
    """A result's text, or the error."""
    try:
        result = str(call())
    except Exception as e:
        result = f"{type(e).__name__}: {e}"
    return result.replace("rushlight.", "torch.")


def same(story):
    ours, theirs = story(rl), story(torch)
    assert ours == theirs


@pytest.mark.parametrize("spec", ["", ".2f", "d", ">10"])
def test_only_plain_tensors_are_formatted_as_numbers(spec):
    def story(lib):
        own = type("Own", (lib.Tensor,), {})
        number = lib.tensor(0.25)
        made = [lib.nn.Parameter(number), number.as_subclass(own), number, lib.nn.Parameter(number) * 2]
        return [told(lambda x=x: format(x, spec)) for x in made]

    same(story)


@pytest.mark.parametrize("key", ["a", b"a", ("a",), ["a"], {1}, 1j, 1.5])
def test_texts_are_no_indices(key):
    def story(lib):
        x = lib.zeros(3)
        found = [told(lambda: x[key]), told(lambda: x.__setitem__(key, 1))]
        return [text.partition(":")[0] for text in found]

    with pytest.warns(UserWarning) if key == ["a"] else nullcontext():  # PyTorch warns of lists
        same(story)


@pytest.mark.parametrize("reduce", ["max", "min", "amax", "amin", "add"])
def test_scatter_reduce_takes_short_names(reduce):
    def story(lib):
        x, at, src = lib.tensor([1.0, 5.0, 2.0]), lib.tensor([1, 1]), lib.tensor([3.0, 9.0])
        return [
            told(lambda: lib.scatter_reduce(x, 0, at, src, reduce)),
            told(lambda: x.clone().scatter_reduce_(0, at, src, reduce, include_self=False)),
        ]

    same(story)


@pytest.mark.parametrize("name", ["RNNCell", "GRUCell", "LSTMCell"])
def test_cells_refuse_states_that_do_not_fit(name):
    """A cell state of another batch went through silently."""

    def story(lib):
        cell = getattr(lib.nn, name)(4, 3)
        x, h = lib.zeros(2, 4), lib.zeros(2, 3)
        wide, long = lib.zeros(2, 5), lib.zeros(3, 3)
        pair = (lambda a: (h, a)) if name == "LSTMCell" else (lambda a: a)
        both = (lambda a: (a, a)) if name == "LSTMCell" else (lambda a: a)
        calls = [
            lambda: cell(lib.zeros(2, 5)),
            lambda: cell(lib.zeros(5)),
            *[lambda s=s: cell(x, s) for s in (pair(wide), pair(long), both(wide), both(long))],
            lambda: cell(x, both(h[0])),
        ]
        return [told(call) for call in calls]

    same(story)


def sparse_tensors(lib):
    places = lib.stack([lib.arange(30) // 3, lib.arange(30) % 7])
    numbers = lib.arange(30) * 1.25 - 11
    coo = lib.sparse_coo_tensor(places, numbers, (12, 12))
    yield coo
    yield coo.coalesce().double()
    yield coo.coalesce().requires_grad_()
    yield lib.sparse_coo_tensor(places, numbers[:, None] * lib.ones(30, 14), (12, 12, 14))
    yield lib.sparse_coo_tensor(places, lib.ones(30, dtype=lib.float16), (12, 12))
    yield lib.sparse_coo_tensor(places[:, :3], lib.tensor([True, False, True]), (12, 12))
    yield lib.sparse_coo_tensor((3, 3))
    dense = coo.to_dense()
    yield dense.to_sparse_csr()
    yield dense.to_sparse_csc()
    yield dense.int().to_sparse_csr()
    yield (lib.arange(2500) + 1.0).view(50, 50).to_sparse()


@pytest.mark.filterwarnings("ignore:Sparse")
def test_sparse_tensors_are_printed_as_pytorchs(monkeypatch):
    monkeypatch.setattr(settings, "module", "torch")  # lines break where the text ends
    for ours, theirs in zip(sparse_tensors(rl), sparse_tensors(torch), strict=True):
        assert str(ours) == str(theirs)


@pytest.mark.parametrize("shape", [(4, 3), (3, 3), (3, 5), (2, 4, 3)])
@pytest.mark.parametrize("kind", ["float32", "complex128"])
def test_packed_reflections(shape, kind):
    """geqrf and ormqr: the packed form is LAPACK's own, the products are Q's."""

    def story(lib):
        gen = torch.Generator().manual_seed(3)
        drawn = torch.randn(*shape, dtype=getattr(torch, kind), generator=gen)
        A = lib.tensor(drawn.numpy())
        a, tau = found = lib.geqrf(A)
        other = lib.ones(*shape[:-2], shape[-2], 2, dtype=A.dtype)
        parts = [a, tau]
        for transpose in (False, True):
            parts.append(lib.ormqr(a, tau, other, transpose=transpose))
            parts.append(lib.ormqr(a, tau, other.transpose(-2, -1), False, transpose))
        return type(found).__name__, found.tau is tau, [p.numpy() for p in parts]

    (*ours, arrays), (*theirs, wanted) = story(rl), story(torch)
    assert ours == theirs
    for x, y in zip(arrays, wanted):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


def test_packed_reflections_refuse():
    def story(lib):
        h, tau = lib.geqrf(lib.eye(5, 3))
        bad = [
            lambda: lib.geqrf(lib.ones(3)),
            lambda: lib.geqrf(lib.ones(3, 3, dtype=lib.int32)),
            lambda: lib.ormqr(h, tau, lib.ones(4, 2)),
            lambda: lib.ormqr(h, tau[:2], lib.ones(5, 2)),
            lambda: lib.ormqr(h, tau, lib.ones(2, 4), left=False),
            lambda: lib.ormqr(h, tau, lib.ones(5)),
            lambda: lib.ormqr(h.expand(2, 5, 3), tau, lib.ones(2, 5, 2)),
            lambda: lib.ormqr(h.expand(2, 5, 3), tau.expand(2, 3), lib.ones(5, 2)),
            lambda: lib.geqrf(lib.eye(2, requires_grad=True))[0].sum().backward(),
        ]
        return [told(call) for call in bad]

    same(story)


def test_gradients_of_products_with_reflections():
    def story(lib):
        h, tau = lib.geqrf(lib.tensor([[3.0, 1.0], [4.0, 2.0], [0.5, 1.5]]))
        parts = [h.detach(), tau.detach(), lib.ones(3, 2)]
        for p in parts:
            p.requires_grad_()
        (lib.ormqr(*parts, transpose=True) * lib.arange(6.0).view(3, 2)).sum().backward()
        return [p.grad.numpy() for p in parts]

    for x, y in zip(story(rl), story(torch)):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore:torch.lu is deprecated")
def test_the_older_lu():
    def story(lib):
        A = lib.tensor([[1.0, 5.0], [2.0, 4.0]])
        singular = lib.zeros(2, 2)
        found = [lib.lu(A), A.lu(), lib.lu(A, get_infos=True), singular.lu(get_infos=True)]
        return [[p.tolist() for p in parts] for parts in found]

    same(story)


POINTS = [[0.1, 1.0], [1.0, 0.3], [2.0, 0.0], [2.0, 2.0], [0.7, 1.9], [-1.0, 0.5]]


@pytest.mark.parametrize(
    "options",
    [
        dict(bins=[2, 3]),
        dict(bins=4),
        dict(bins=2, range=[0.0, 2.0, 0.5, 2.0]),
        dict(bins=[3, 2], density=True),
        dict(bins=[2, 2], weight=[1.0, 2.0, 0.5, 0.25, 1.0, 3.0]),
        dict(bins=[[0.0, 0.5, 2.0], [0.0, 1.0, 1.5, 2.0]]),
        dict(bins=[3]),
        dict(bins=2, range=[0.0, 1.0]),
        dict(bins=[2, 0]),
        dict(bins=[2, 2], weight=[1.0]),
    ],
)
def test_histogramdd(options):
    def story(lib):
        kw = dict(options)
        if "weight" in kw:
            kw["weight"] = lib.tensor(kw["weight"])
        if isinstance(kw["bins"], list) and isinstance(kw["bins"][0], list):
            kw["bins"] = [lib.tensor(b) for b in kw["bins"]]
        return told(lambda: lib.histogramdd(lib.tensor(POINTS), **kw))

    same(story)


SHAPES = [(), (1,), (3,)]


@pytest.mark.filterwarnings("ignore:index_reduce", "ignore:The reduce argument")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("at", SHAPES)
@pytest.mark.parametrize("given", SHAPES)
def test_places_and_values_without_dimensions(shape, at, given):
    """They count as vectors of one element; some crashed, some wrote everywhere."""

    def story(lib):
        x, s = lib.ones(shape), lib.full(given, 2.0)
        n = lib.zeros(at, dtype=lib.int64)
        calls = [
            lambda: x.gather(0, n),
            lambda: x.scatter(0, n, 5.0),
            lambda: x.scatter(0, n, s),
            lambda: x.scatter_add(0, n, s),
            lambda: x.scatter_reduce(0, n, s, "amax"),
            lambda: x.clone().scatter_(0, n, s),
            lambda: x.scatter(0, n, s, reduce="multiply"),
        ]
        seen = []
        for call in calls:
            try:
                y = call()
            except RuntimeError:
                seen.append("refused")
                continue
            seen.append(y.tolist())
        seen.append(told(lambda: x.index_reduce(0, n, s, "amax"))[:12])
        return seen

    if given == () and at == (3,):  # PyTorch has another kind of error for index_reduce
        assert story(rl)[:-1] == story(torch)[:-1]
    else:
        same(story)


def test_gradients_of_places_without_dimensions():
    def story(lib):
        x, s = lib.ones(3, requires_grad=True), lib.tensor([2.0], requires_grad=True)
        at = lib.tensor(1)
        (x.gather(0, at) * 3 + x.scatter(0, at, 5.0).sum()).backward()
        x.scatter_add(0, at.view(1), s).sum().backward()
        return x.grad.tolist(), s.grad.tolist()

    same(story)


# What suites of libraries asked for; run under both.
OF_SUITES = """
torch.ones(1).broadcast_to(3) | torch.ones(1).broadcast_to(2, 3) | torch.ones(1).broadcast_to(size=(2, 3))
torch.Size((1, torch.tensor(3))) | torch.Size((1, torch.tensor(3.0))) | torch.Size(torch.tensor([1, 2])) | torch.Size([1.5]) | torch.Size()
torch.einsum("ij,j->i", torch.ones(2, 1), torch.ones(1).double()) | torch.einsum("ij,k->ijk", torch.ones(2, 2), torch.ones(2).long())
"""


@pytest.mark.parametrize("line", [c.strip() for row in OF_SUITES.strip().splitlines() for c in row.split(" | ")])
def test_lines_of_suites(line):
    same(lambda lib: told(lambda: eval(line, {"torch": lib})))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "nearest"])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_resized_pictures_keep_channels_last(dtype, mode):
    def story(lib):
        x = lib.arange(120).reshape(2, 3, 5, 4).to(getattr(lib, dtype))
        x = x.contiguous(memory_format=lib.channels_last)
        return [lib.nn.functional.interpolate(x, size=size, mode=mode).stride() for size in ((7, 3), (9, 4), (5, 4))]

    same(story)


def test_nodes_show_what_was_kept():
    def story(lib):
        x, y = lib.tensor([1.0, 2.0], requires_grad=True), lib.tensor([3.0, 4.0])
        power, exponential, product = x.pow(2), x.exp(), x * y
        shown = [power.grad_fn._saved_self is x, exponential.grad_fn._saved_result.tolist()]
        shown += [product.grad_fn._saved_self, product.grad_fn._saved_other.tolist()]
        exponential.sum().backward()
        shown.append(told(lambda: exponential.grad_fn._saved_result))
        return [*shown, told(lambda: product.grad_fn._saved_nothing)]

    same(story)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int32", "complex64"])
def test_numbers_by_tensors_are_products_with_reciprocals(dtype):
    def story(lib):
        x = (lib.arange(1, 1500) * 3).to(getattr(lib, dtype))
        return [(number / x).to(lib.complex128).numpy().tobytes() for number in (255, 7.5, True, 1)]

    same(story)


@pytest.mark.parametrize("way", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("trivial", [True, False])
def test_where_orthogonal_weights_begin(way, trivial):
    def story(lib):
        lib.manual_seed(0)
        layer = lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(4, 4), "weight", way, use_trivialization=trivial)
        return layer.parametrizations.weight.original.tolist()

    np.testing.assert_allclose(story(rl), story(torch), rtol=1e-5)


@pytest.mark.parametrize("batch", [(), (2,)])
def test_what_wishart_draws_takes_from_the_stream(batch):
    def story(lib):
        lib.manual_seed(0)
        with pytest.warns(UserWarning, match="Singular sample detected"):
            drawn = lib.distributions.Wishart(lib.full(batch, 4.0), lib.eye(3)).rsample((2,))
        return drawn.flatten().tolist() + lib.rand(1).tolist()

    np.testing.assert_allclose(story(rl), story(torch), rtol=1e-4)


def test_a_cyclic_schedules_state_has_pytorchs_names():
    def story(lib):
        optimizer = lib.optim.SGD([lib.zeros(1, requires_grad=True)], 0.1)
        return sorted(lib.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 0.2, cycle_momentum=False).state_dict())

    same(story)


def test_inputs_of_a_replaced_pattern_are_different_nodes():
    def story(lib):
        traced = lib.fx.symbolic_trace(lambda a: lib.add(a, lib.add(a, a)))
        lib.fx.replace_pattern(traced, lambda x, w: lib.add(x, w), lambda x, w: lib.mul(x, w))
        return traced(lib.tensor(3.0)).item()

    same(story)


def test_tensors_of_pictures_lie_as_the_picture():
    image = pytest.importorskip("PIL.Image").new("RGB", (4, 2))
    functional = rl.vision.transforms.functional
    x = functional.pil_to_tensor(image)  # torchvision's strides: what is drawn for it comes in this order
    assert x.stride() == functional.hflip(x).stride() == (1, 12, 3)


@pytest.mark.parametrize("kinds", [("float32", "float64"), ("float64", "float32"), ("float32", "float32")])
def test_sparse_and_dense_factors_have_one_dtype(kinds):
    def story(lib):
        mine, theirs = (lib.ones(2, 2, dtype=getattr(lib, kind)) for kind in kinds)
        return told(lambda: lib.sparse.mm(mine.to_sparse(), theirs)).partition(":")[0]

    same(story)


def test_masks_of_later_places_have_the_default_dtype():
    def story(lib):
        lib.set_default_dtype(lib.float64)
        try:
            return str(lib.nn.Transformer.generate_square_subsequent_mask(2))
        finally:
            lib.set_default_dtype(lib.float32)

    same(story)
