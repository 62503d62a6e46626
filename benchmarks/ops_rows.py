"""The rows of benchmarks/ops.py: expressions that both libraries run, and the shapes of what they read."""

from __future__ import annotations

from typing import Any, NamedTuple

S, M, L = (8, 16), (64, 1024), (1024, 1024)  # overhead, the caches, memory


class Row(NamedTuple):
    """One expression. `inputs`: a letter of what is drawn, then the shape (see `drawn` of ops.py)."""

    name: str
    code: str
    inputs: dict[str, tuple[Any, ...]]
    backward: bool = True
    setup: str = ""


def _rows() -> list[Row]:
    rows: list[Row] = []

    def add(name: str, code: str, backward: bool = True, setup: str = "", **inputs: Any) -> None:
        rows.append(Row(name, code, inputs, backward, setup))

    def sizes(name: str, code: str, kind: str = "f", backward: bool = True, **more: Any) -> None:
        for mark, shape in zip("SML", (S, M, L)):
            others = {k: (v, *shape) for k, v in more.items()}
            add(f"{name} {mark}", code, backward, x=(kind, *shape), **others)

    _pointwise(sizes)
    _reductions(add, sizes)
    _indexing(add)
    _shapes(add)
    _images(add)
    _layers(add)
    _losses(add)
    _steps(add)
    return rows


def _pointwise(sizes: Any) -> None:
    for name in ("tanh exp sin cos sigmoid erf floor round abs neg sqrt rsqrt relu square expm1 atan asin "
                 "reciprocal sign tan sinh log1p erfinv lgamma digamma frac trunc logit exp2 atanh acosh "
                 "nan_to_num log log2").split():  # fmt: skip
        kind = "u" if name in "sqrt rsqrt log1p erfinv lgamma digamma logit log log2 atanh asin".split() else "f"
        sizes(name, f"T.{name}(x)" if name != "acosh" else "T.acosh(x + 1)", "u" if name == "acosh" else kind)
    for name in (
        "gelu silu mish hardswish elu selu softplus leaky_relu relu6 hardtanh softsign "
        "logsigmoid celu hardsigmoid tanhshrink glu log_softmax softmax normalize"
    ).split():
        sizes(name, f"F.{name}(x" + (", -1)" if "softmax" in name else ")"))
    for code in ("x + y", "x * y", "x / y", "x - 2.0", "x ** 2", "x ** 3", "x ** 1.5", "2.0 / x"):
        sizes(code, code, "u", y="u")
    for name in "maximum minimum atan2 fmax hypot fmod logaddexp xlogy copysign".split():
        sizes(name, f"T.{name}(x, y)", "u", y="u")
    sizes("pow t", "T.pow(x, y)", "u", y="u")
    sizes("lerp", "T.lerp(x, y, 0.3)", y="f")
    sizes("lerp t", "T.lerp(x, y, z)", y="f", z="f")
    sizes("addcmul", "T.addcmul(x, y, z)", y="f", z="f")
    sizes("where", "T.where(m, x, y)", m="b", y="f")
    sizes("where number", "T.where(m, x, 0.0)", m="b")
    sizes("masked_fill", "x.masked_fill(m, -1e9)", m="b")
    sizes("clamp", "x.clamp(-1, 1)")
    sizes("clamp min", "x.clamp(min=0.1)")
    for code in ("x > y", "x == y", "x > 0", "x != 0"):
        sizes(code, code, backward=False, y="f")
    sizes("m & k", "x & m", "b", False, m="b")
    sizes("~m", "~x", "b", False)
    sizes("isnan", "T.isnan(x)", backward=False)
    sizes("isfinite", "T.isfinite(x)", backward=False)
    sizes("allclose", "T.allclose(x, x)", backward=False)
    sizes("equal", "T.equal(x, y)", backward=False, setup="y = x.clone()")
    for code in ("x + y", "x * y", "x // y", "x % y", "x > y", "x == y", "x + 1", "x.abs()", "x.float()"):
        sizes(f"int64 {code}", code, "i", False, y="i")
    for code in ("x + y", "T.tanh(x)", "T.sigmoid(x)", "x.clamp(-1, 1)", "T.where(m, x, y)", "x.log_softmax(-1)",
                 "x.mean(-1)", "x.amax(-1)", "x.argmax(-1)", "x > y", "x.cumsum(-1)", "x.topk(4)[0]", "T.sqrt(x.abs())"):  # fmt: skip
        sizes(f"bf16 {code}", code, "h", "arg" not in code and ">" not in code, y="h", m="b")
    sizes("x.bool()", "x.bool()", backward=False)
    sizes("x.double()", "x.double()")
    sizes("x.long()", "x.long()", backward=False)


def _reductions(add: Any, sizes: Any) -> None:
    for name in "sum mean var std amax argmax logsumexp norm".split():
        sizes(f"{name} -1", f"x.{name}(-1)", backward=name != "argmax")
        sizes(f"{name} 0", f"x.{name}(0)", backward=name != "argmax")
        if name not in ("logsumexp", "amax"):
            sizes(f"{name} all", f"x.{name}()", backward=name != "argmax")
    sizes("max -1", "x.max(-1)[0]")
    sizes("max 0", "x.max(0)[0]")
    sizes("aminmax", "T.aminmax(x)[0]", backward=False)
    sizes("median", "x.median(-1)[0]")
    sizes("kthvalue", "x.kthvalue(3, -1)[0]")
    sizes("mode", "x.round().mode(-1)[0]", backward=False)
    sizes("quantile", "x.quantile(0.3, -1)")
    sizes("nansum", "x.nansum(-1)")
    sizes("norm 1", "x.norm(1, -1)")
    sizes("norm inf", "T.linalg.vector_norm(x, float('inf'), -1)")
    sizes("any", "x.any(-1)", "b", False)
    sizes("all", "x.all()", "b", False)
    sizes("sum of bool", "x.sum()", "b", False)
    sizes("count_nonzero", "T.count_nonzero(x)", backward=False)
    sizes("sort", "x.sort(-1)[0]")
    sizes("sort 0", "x.sort(0)[0]")
    sizes("argsort", "x.argsort(-1)", backward=False)
    sizes("topk", "x.topk(4, -1)[0]")
    sizes("topk 0", "x.topk(4, 0)[0]")
    sizes("cumsum", "x.cumsum(-1)")
    sizes("cumsum 0", "x.cumsum(0)")
    sizes("diff", "x.diff()")
    sizes("int64 sum", "x.sum(-1)", "i", False)
    sizes("int64 max", "x.max()", "i", False)
    sizes("int64 sort", "x.sort(-1)[0]", "i", False)
    sizes("int64 cumsum", "x.cumsum(-1)", "i", False)
    sizes("int64 unique", "T.unique(x)", "i", False)
    sizes("unique inverse", "T.unique(x, return_inverse=True)[1]", "i", False)
    sizes("bincount", "T.bincount(x.reshape(-1))", "i", False)
    sizes("histc", "T.histc(x, 20)", backward=False)
    sizes("searchsorted", "T.searchsorted(y, x)", "u", False, y="s")
    add("top 2 of 4", "x.topk(2, -1)[0]", x=("f", 128, 4))
    add("softmax of 4", "x.softmax(-1)", x=("f", 128, 4))
    add("sum of rows of 8", "x.sum(-1)", x=("f", 4096, 8))
    add("max of rows of 8", "x.max(-1)[0]", x=("f", 4096, 8))
    add("mean over an image", "x.mean((2, 3))", x=("f", 16, 64, 14, 14))
    add("var over an image", "x.var((0, 2, 3))", x=("f", 16, 64, 14, 14))


def _indexing(add: Any) -> None:
    x = ("f", 1000, 64)
    at = ("n", 1000, 512)
    add("gather", "x.gather(1, i)", x=x, i=("n", 64, 1000, 20))
    add("gather 0", "x.gather(0, i)", x=x, i=("n", 1000, 500, 64))
    add("gather one", "x.gather(1, i)", x=("f", 128, 1000), i=("n", 1000, 128, 1))
    add("scatter", "T.zeros(1000, 64).scatter(1, i, v)", v=("f", 1000, 20), i=("n", 64, 1000, 20))
    add("scatter_add", "T.zeros(1000, 64).scatter_add(0, i, v)", v=("f", 500, 64), i=("n", 1000, 500, 64))
    add("scatter_reduce", "T.zeros(1000).scatter_reduce(0, i, v, 'amax')", v=("f", 500), i=("n", 1000, 500))
    add("index_add", "x.index_add(0, i, v)", x=x, v=("f", 512, 64), i=at)
    add("index_copy", "x.index_copy(0, i, v)", x=x, v=("f", 512, 64), i=at)
    add("index_select", "x.index_select(0, i)", x=x, i=at)
    add("index_select 1", "x.index_select(1, i)", x=x, i=("n", 64, 20))
    add("x[i]", "x[i]", x=x, i=at)
    add("x[:, i]", "x[:, i]", x=x, i=("n", 64, 20))
    add("x[i, j]", "x[i, j]", x=x, i=at, j=("n", 64, 512))
    add("x[m]", "x[m]", x=x, m=("b", 1000, 64))
    add("x[m] rows", "x[m]", x=x, m=("b", 1000))
    add("x[m] = 0", "x.__setitem__(m, 0.0)", False, x=x, m=("b", 1000, 64))
    add("x[i] = v", "x.__setitem__(i, v)", False, x=x, v=("f", 512, 64), i=at)
    add("x[2:5, ::2]", "x[2:5, ::2]", x=x)
    add("masked_select", "x.masked_select(m)", x=x, m=("b", 1000, 64))
    add("masked_scatter", "x.masked_scatter(m, v)", x=x, m=("b", 1000, 64), v=("f", 1000, 64))
    add("take_along_dim", "T.take_along_dim(x, i, 1)", x=x, i=("n", 64, 1000, 20))
    add("nonzero", "m.nonzero()", False, m=("b", 1000, 64))
    add("nonzero S", "m.nonzero()", False, m=("b", 8, 16))
    add("one_hot", "F.one_hot(i, 100)", False, i=("n", 100, 512))
    add("one_hot S", "F.one_hot(i, 10)", False, i=("n", 10, 16))
    add("embedding", "F.embedding(i, x)", x=x, i=("n", 1000, 32, 16))
    add("embedding_bag", "F.embedding_bag(i, x)", x=x, i=("n", 1000, 64, 16))
    add("embedding_bag sum", "F.embedding_bag(i, x, o, mode='sum')", x=x, i=("n", 1000, 1024),
        setup="o = T.arange(0, 1024, 16)")  # fmt: skip
    add("isin", "T.isin(x, i)", False, x=("n", 1000, 4096), i=("n", 1000, 20))
    add("multinomial", "T.multinomial(x, 4)", False, x=("u", 64, 100))
    add("multinomial of one", "T.multinomial(x, 1)", False, x=("u", 16, 200))
    add("sort of many rows", "x.sort(-1)[0]", False, x=("f", 4096, 1024))
    add("arange", "T.arange(10000)", False)
    add("linspace", "T.linspace(0, 1, 1000)", False)
    add("zeros", "T.zeros(64, 64)", False)
    add("full", "T.full((64, 64), 2.0)", False)
    add("eye", "T.eye(64)", False)
    add("randn", "T.randn(64, 1024)", False)
    add("rand", "T.rand(64, 1024)", False)
    add("randint", "T.randint(0, 100, (64, 1024))", False)
    add("bernoulli", "T.bernoulli(x)", False, x=("u", 64, 1024))
    add("tensor of a list", "T.tensor([1.0, 2.0, 3.0])", False)
    add("from_numpy", "T.from_numpy(a)", False, setup="import numpy; a = numpy.zeros((8, 8), 'f')")
    add("item", "x.item()", False, x=("f", 1))
    add("tolist", "x.tolist()", False, x=("f", 1000))


def _shapes(add: Any) -> None:
    x = ("f", 8, 16, 32, 32)
    for code in ("x.flip(-1)", "x.flip(0)", "x.flip(2, 3)", "x.roll(3, -1)", "x.roll((1, 2), (2, 3))", "x.rot90(1, (2, 3))",
                 "T.cat([x, x], 1)", "T.stack([x, x])", "T.stack([x, x], -1)", "x.repeat(2, 1, 1, 1)", "x.repeat(1, 1, 1, 2)",
                 "x.repeat_interleave(2, 1)", "x.tile(2)", "x.transpose(1, 3).contiguous()",
                 "x.permute(0, 2, 3, 1).contiguous()", "x.unfold(2, 3, 1).contiguous()", "x.expand(2, 8, 16, 32, 32).contiguous()",
                 "x.clone()", "x.chunk(4, 1)[1]", "x.split(4, 1)[1]", "x.reshape(8, -1)", "x.flatten(1)", "x.unbind(0)[1]",
                 "x.movedim(1, -1).reshape(-1, 16)", "x.tril()", "x.diagonal(0, 2, 3).sum(-1)", "x[..., None, :].squeeze(-2)",
                 "F.pixel_shuffle(x, 2)", "F.pixel_unshuffle(x, 2)", "F.channel_shuffle(x, 4)", "T.narrow(x, 1, 2, 4).contiguous()",
                 "x.view(-1)", "x.to(memory_format=T.channels_last)", "T.hstack([x, x])", "T.block_diag(x[0, 0], x[1, 1])",
                 "T.cartesian_prod(x[0, 0, 0], x[0, 0, 1])", "T.outer(x[0, 0, 0], x[0, 0, 1])", "T.kron(x[0, 0], x[0, 1])"):  # fmt: skip
        add(code, code, x=x)
    for code in ("x.view(-1)", "x.transpose(0, 1)", "x[0]", "x.unsqueeze(0)", "x.detach()", "T.cat([x, x])", "T.stack([x, x])",
                 "x.flip(0)", "x.expand(2, 8, 16)", "x.clone()", "x.split(4)[0]", "x.t() @ x", "x.shape", "x.size(0)", "x + x", "x * x",
                 "F.relu(x)", "x.sum()", "reduce(lambda z, _: z * x + x, range(10), x)"):  # fmt: skip
        add(
            f"small {code}",
            code,
            code not in ("x.shape", "x.size(0)", "x.detach()"),
            "from functools import reduce",
            x=("f", 8, 16),
        )
    for mode in ("constant", "reflect", "replicate", "circular"):
        add(f"pad {mode}", f"F.pad(x, (1, 2, 3, 1), mode={mode!r})", x=x)
        add(f"pad {mode} 1d", f"F.pad(x, (3, 3), mode={mode!r})", x=("f", 16, 32, 128))
    for code in ("x @ y", "T.bmm(x, y)"):
        for b, n in ((512, 4), (128, 16), (16, 64)):
            add(f"{code} {b} x {n}", code, x=("f", b, n, n), y=("f", b, n, n))
    for shape in ((8, 8), (64, 64), (256, 256)):
        add(f"mm {shape}", "x @ y", x=("f", *shape), y=("f", *shape))
    add("matrix @ vector", "x @ y", x=("f", 256, 256), y=("f", 256))
    add("dot", "x @ y", x=("f", 4096), y=("f", 4096))
    add("addmm", "T.addmm(b, x, y)", b=("f", 64), x=("f", 64, 64), y=("f", 64, 64))
    add("baddbmm", "T.baddbmm(b, x, y)", b=("f", 16, 32, 32), x=("f", 16, 32, 64), y=("f", 16, 64, 32))
    for e, a, b in (("bi,bj->bij", (64, 32), (64, 32)), ("bij,bjk->bik", (16, 32, 32), (16, 32, 32)), ("ij->ji", (64, 64), None),
                    ("bhqd,bhkd->bhqk", (4, 4, 32, 16), (4, 4, 32, 16)), ("bnd,de->bne", (8, 32, 64), (64, 64)),
                    ("bi,bi->b", (64, 128), (64, 128)), ("ijk,k->ij", (16, 32, 64), (64,)), ("bcxy,cd->bdxy", (4, 16, 16, 16), (16, 32)),
                    ("ii->", (64, 64), None)):  # fmt: skip
        more = {} if b is None else {"y": ("f", *b)}
        add(f"einsum {e}", f"T.einsum({e!r}, x{', y' if b else ''})", x=("f", *a), **more)
    add("tensordot", "T.tensordot(x, y, 1)", x=("f", 16, 32, 64), y=("f", 64, 32))
    add("cdist", "T.cdist(x, y)", x=("f", 128, 32), y=("f", 256, 32))
    add("cdist small", "T.cdist(x, y)", x=("f", 16, 4), y=("f", 16, 4))
    add("cdist 1", "T.cdist(x, y, p=1)", x=("f", 64, 32), y=("f", 64, 32))
    add("cosine_similarity", "F.cosine_similarity(x, y)", x=("f", 128, 64), y=("f", 128, 64))
    add("pairwise_distance", "F.pairwise_distance(x, y)", x=("f", 128, 64), y=("f", 128, 64))
    add("cross", "T.linalg.cross(x, y)", x=("f", 256, 3), y=("f", 256, 3))
    add("inverse", "T.linalg.inv(x)", x=("f", 32, 32))
    add("inverse of many", "T.linalg.inv(x)", x=("f", 64, 4, 4))
    add("solve", "T.linalg.solve(x, y)", x=("f", 32, 32), y=("f", 32, 4))
    add("det of many", "T.linalg.det(x)", x=("f", 64, 3, 3))
    add("svd", "T.linalg.svdvals(x)", x=("f", 32, 32))
    add("cholesky", "T.linalg.cholesky(x @ x.T + T.eye(32))", x=("f", 32, 32))
    add("qr", "T.linalg.qr(x)[1]", x=("f", 32, 32))
    add("solve of many", "T.linalg.solve(x, y)", x=("f", 64, 4, 4), y=("f", 64, 4, 4))
    add("lstsq of many", "T.linalg.lstsq(x, y)[0]", False, x=("f", 64, 4, 4), y=("f", 64, 4, 4))
    add("fft", "T.fft.rfft(x).abs()", x=("f", 64, 256))
    add("stft", "T.stft(x, 256, window=w, return_complex=True).abs()", x=("f", 4, 4096), w=("u", 256))


def _images(add: Any) -> None:
    x = ("f", 8, 16, 32, 32)
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            add(f"grid_sample {mode} {padding}", f"F.grid_sample(x, g, {mode!r}, {padding!r}, False)", x=("f", 4, 16, 32, 32),
                g=("c", 4, 32, 32, 2))  # fmt: skip
    add("grid_sample S", "F.grid_sample(x, g, align_corners=False)", x=("f", 2, 3, 8, 8), g=("c", 2, 8, 8, 2))
    add(
        "grid_sample 3d",
        "F.grid_sample(x, g, align_corners=False)",
        x=("f", 2, 4, 12, 12, 12),
        g=("c", 2, 12, 12, 12, 3),
    )
    add("affine_grid", "F.affine_grid(x, (8, 3, 32, 32), align_corners=False)", x=("f", 8, 2, 3))
    add("affine_grid S", "F.affine_grid(x, (1, 1, 8, 8), align_corners=True)", x=("f", 1, 2, 3))
    for mode in ("nearest", "bilinear", "bicubic", "area", "nearest-exact"):
        add(f"interpolate {mode}", f"F.interpolate(x, scale_factor=2, mode={mode!r})", x=("f", 4, 16, 16, 16))
        add(f"interpolate {mode} down", f"F.interpolate(x, size=(12, 12), mode={mode!r})", x=x)
    add("interpolate antialias", "F.interpolate(x, size=(12, 12), mode='bilinear', antialias=True)", x=x)
    add("interpolate linear", "F.interpolate(x, scale_factor=2, mode='linear')", x=("f", 8, 16, 64))
    add("interpolate trilinear", "F.interpolate(x, scale_factor=2, mode='trilinear')", x=("f", 2, 8, 8, 8, 8))
    add("unfold", "F.unfold(x, 3, padding=1)", x=("f", 4, 16, 16, 16))
    add("fold", "F.fold(x, (16, 16), 3, padding=1)", x=("f", 4, 144, 256))
    add("unfold patches", "F.unfold(x, 4, stride=4)", x=("f", 8, 3, 32, 32))
    add("fold patches", "F.fold(x, (32, 32), 4, stride=4)", x=("f", 8, 48, 64))
    add("max_pool1d", "F.max_pool1d(x, 2)", x=("f", 16, 32, 128))
    add("max_pool2d", "F.max_pool2d(x, 2)", x=x)
    add("max_pool2d 3 2 1", "F.max_pool2d(x, 3, 2, 1)", x=x)
    add("max_pool2d indices", "F.max_pool2d(x, 2, return_indices=True)[0]", x=x)
    add("max_pool3d", "F.max_pool3d(x, 2)", x=("f", 2, 8, 16, 16, 16))
    add("max_unpool2d", "F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)", x=x)
    add("avg_pool1d", "F.avg_pool1d(x, 2)", x=("f", 16, 32, 128))
    add("avg_pool2d", "F.avg_pool2d(x, 2)", x=x)
    add("avg_pool3d", "F.avg_pool3d(x, 2)", x=("f", 2, 8, 16, 16, 16))
    add("lp_pool2d", "F.lp_pool2d(x, 2, 2)", x=x)
    add("adaptive_avg_pool2d 1", "F.adaptive_avg_pool2d(x, 1)", x=x)
    add("adaptive_avg_pool2d 7", "F.adaptive_avg_pool2d(x, 7)", x=x)
    add("adaptive_max_pool2d 7", "F.adaptive_max_pool2d(x, 7)", x=x)
    add("adaptive_avg_pool1d", "F.adaptive_avg_pool1d(x, 10)", x=("f", 16, 32, 128))
    add("fractional_max_pool2d", "F.fractional_max_pool2d(x, 2, (10, 10))", x=x)
    add("local_response_norm", "F.local_response_norm(x, 3)", x=x)
    w = ("f", 32, 16, 3, 3)
    add("conv2d", "F.conv2d(x, w, padding=1)", x=x, w=w)
    add("conv2d S", "F.conv2d(x, w)", x=("f", 1, 3, 8, 8), w=("f", 4, 3, 3, 3))
    add("conv2d 1x1", "F.conv2d(x, w)", x=x, w=("f", 32, 16, 1, 1))
    add("conv2d bias stride", "F.conv2d(x, w, b, 2, 1)", x=x, w=w, b=("f", 32))
    add("conv2d dilated", "F.conv2d(x, w, padding=2, dilation=2)", x=x, w=w)
    add("conv2d grouped", "F.conv2d(x, w, padding=1, groups=4)", x=x, w=("f", 32, 4, 3, 3))
    add("conv2d depthwise", "F.conv2d(x, w, padding=1, groups=16)", x=x, w=("f", 16, 1, 3, 3))
    add("conv2d depthwise 7", "F.conv2d(x, w, padding=3, groups=16)", x=x, w=("f", 16, 1, 7, 7))
    add("conv2d patches", "F.conv2d(x, w, stride=4)", x=("f", 8, 3, 32, 32), w=("f", 64, 3, 4, 4))
    add("conv1d", "F.conv1d(x, w, padding=1)", x=("f", 8, 32, 128), w=("f", 64, 32, 3))
    add("conv1d dilated", "F.conv1d(x, w, padding=4, dilation=4)", x=("f", 8, 32, 128), w=("f", 32, 32, 3))
    add("conv1d depthwise", "F.conv1d(x, w, padding=1, groups=32)", x=("f", 8, 32, 128), w=("f", 32, 1, 3))
    add("conv1d stride", "F.conv1d(x, w, stride=4)", x=("f", 8, 1, 1024), w=("f", 32, 1, 8))
    add("conv3d", "F.conv3d(x, w, padding=1)", x=("f", 2, 8, 12, 12, 12), w=("f", 16, 8, 3, 3, 3))
    add("conv3d depthwise", "F.conv3d(x, w, padding=1, groups=8)", x=("f", 2, 8, 12, 12, 12), w=("f", 8, 1, 3, 3, 3))
    add(
        "conv_transpose2d",
        "F.conv_transpose2d(x, w, stride=2, padding=1)",
        x=("f", 8, 16, 16, 16),
        w=("f", 16, 16, 4, 4),
    )
    add("conv_transpose2d 2", "F.conv_transpose2d(x, w, stride=2)", x=("f", 8, 16, 16, 16), w=("f", 16, 16, 2, 2))
    add("conv_transpose1d", "F.conv_transpose1d(x, w, stride=2)", x=("f", 8, 16, 64), w=("f", 16, 16, 4))
    add("conv_transpose3d", "F.conv_transpose3d(x, w, stride=2)", x=("f", 2, 8, 6, 6, 6), w=("f", 8, 8, 2, 2, 2))
    add("bf16 conv2d", "F.conv2d(x, w, padding=1)", x=("h", *x[1:]), w=("h", *w[1:]))


def _layers(add: Any) -> None:
    x = ("f", 8, 16, 32, 32)

    def layer(name: str, made: str, shape: tuple[Any, ...], call: str = "m(x)", backward: bool = True) -> None:
        add(name, call, backward, setup=f"m = nn.{made}", x=shape)

    layer("batch_norm train", "BatchNorm2d(16)", x)
    layer("batch_norm eval", "BatchNorm2d(16).eval()", x)
    layer("batch_norm 1d", "BatchNorm1d(64)", ("f", 128, 64))
    layer("batch_norm 1d S", "BatchNorm1d(8)", ("f", 8, 8))
    layer("batch_norm 3d", "BatchNorm3d(8)", ("f", 2, 8, 12, 12, 12))
    layer("instance_norm", "InstanceNorm2d(16, affine=True)", x)
    layer("group_norm", "GroupNorm(4, 16)", x)
    layer("layer_norm", "LayerNorm(64)", ("f", 128, 64))
    layer("layer_norm S", "LayerNorm(16)", ("f", 8, 16))
    layer("layer_norm last two", "LayerNorm((16, 16))", ("f", 32, 16, 16))
    layer("rms_norm", "RMSNorm(64)", ("f", 128, 64))
    layer("linear", "Linear(64, 64)", ("f", 128, 64))
    layer("linear S", "Linear(16, 4)", ("f", 8, 16))
    layer("linear 3d", "Linear(64, 128)", ("f", 8, 32, 64))
    layer("linear wide", "Linear(512, 512)", ("f", 64, 512))
    add("bilinear", "m(x, y)", setup="m = nn.Bilinear(16, 16, 8)", x=("f", 64, 16), y=("f", 64, 16))
    layer("dropout", "Dropout(0.1)", ("f", 128, 256))
    layer("dropout2d", "Dropout2d(0.1)", x)
    layer("alpha_dropout", "AlphaDropout(0.1)", ("f", 128, 256))
    layer("prelu", "PReLU()", ("f", 128, 256))
    layer("lstm cell", "LSTMCell(64, 64)", ("f", 32, 64), "m(x)[0]")
    layer("gru cell", "GRUCell(64, 64)", ("f", 32, 64))
    layer("rnn cell", "RNNCell(64, 64)", ("f", 32, 64))
    layer("lstm cell S", "LSTMCell(8, 8)", ("f", 2, 8), "m(x)[0]")
    layer("lstm", "LSTM(32, 64, batch_first=True)", ("f", 16, 20, 32), "m(x)[0]")
    layer("lstm both ways", "LSTM(32, 32, bidirectional=True)", ("f", 20, 8, 32), "m(x)[0]")
    layer("gru", "GRU(32, 64, batch_first=True)", ("f", 16, 20, 32), "m(x)[0]")
    layer("rnn", "RNN(32, 64, batch_first=True)", ("f", 16, 20, 32), "m(x)[0]")
    layer("attention", "MultiheadAttention(64, 4, batch_first=True)", ("f", 8, 32, 64), "m(x, x, x)[0]")
    layer(
        "attention light",
        "MultiheadAttention(64, 4, batch_first=True)",
        ("f", 8, 32, 64),
        "m(x, x, x, need_weights=False)[0]",
    )
    layer("encoder layer", "TransformerEncoderLayer(64, 4, 128, batch_first=True)", ("f", 8, 32, 64))
    layer("encoder layer eval", "TransformerEncoderLayer(64, 4, 128, batch_first=True).eval()", ("f", 8, 32, 64))
    for more in ("", ", is_causal=True"):
        add(f"sdpa{more}", f"F.scaled_dot_product_attention(x, y, z{more})", x=("f", 4, 4, 64, 32), y=("f", 4, 4, 64, 32),
            z=("f", 4, 4, 64, 32))  # fmt: skip
    layer("pad then conv", "Sequential(nn.ReflectionPad2d(1), nn.Conv2d(16, 16, 3))", x)
    layer("mlp S", "Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))", ("f", 4, 8))
    layer("upsample", "Upsample(scale_factor=2)", ("f", 4, 16, 16, 16))
    layer("cosine", "CosineSimilarity(dim=1)", x, "m(x, x * 2)")
    layer("weight norm", "utils.parametrizations.weight_norm(nn.Linear(64, 64))", ("f", 32, 64))
    layer("spectral norm", "utils.parametrizations.spectral_norm(nn.Linear(64, 64))", ("f", 32, 64))


def _losses(add: Any) -> None:
    x, y = ("f", 128, 64), ("f", 128, 64)
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss"):
        add(name, f"F.{name}(x, y)", x=x, y=y)
        add(f"{name} S", f"F.{name}(x, y)", x=("f", 8, 4), y=("f", 8, 4))
    add("bce_with_logits", "F.binary_cross_entropy_with_logits(x, y)", x=x, y=("u", 128, 64))
    add("bce", "F.binary_cross_entropy(x, y)", x=("u", 128, 64), y=("u", 128, 64))
    add("kl_div", "F.kl_div(x, y, reduction='batchmean')", x=x, y=("u", 128, 64))
    add("cross_entropy", "F.cross_entropy(x, t)", x=x, t=("n", 64, 128))
    add("cross_entropy S", "F.cross_entropy(x, t)", x=("f", 8, 4), t=("n", 4, 8))
    add("cross_entropy smooth", "F.cross_entropy(x, t, label_smoothing=0.1)", x=x, t=("n", 64, 128))
    add("cross_entropy weights", "F.cross_entropy(x, t, w)", x=x, t=("n", 64, 128), w=("u", 64))
    add("cross_entropy soft", "F.cross_entropy(x, y.softmax(-1))", x=x, y=y)
    add("cross_entropy 2d", "F.cross_entropy(x, t)", x=("f", 4, 10, 32, 32), t=("n", 10, 4, 32, 32))
    add("nll 2d", "F.nll_loss(x, t)", x=("f", 4, 10, 32, 32), t=("n", 10, 4, 32, 32))
    add("multi_margin", "F.multi_margin_loss(x, t)", x=("f", 64, 10), t=("n", 10, 64))
    add("multi_margin 2", "F.multi_margin_loss(x, t, p=2)", x=("f", 64, 100), t=("n", 100, 64))
    add("multilabel_margin", "F.multilabel_margin_loss(x, t)", x=("f", 64, 10), t=("n", 10, 64, 10))
    add("multilabel_soft_margin", "F.multilabel_soft_margin_loss(x, y)", x=("f", 64, 10), y=("u", 64, 10))
    add("margin_ranking", "F.margin_ranking_loss(x, y, s)", x=("f", 256), y=("f", 256), s=("f", 256))
    add("hinge_embedding", "F.hinge_embedding_loss(x, s.sign())", x=("f", 256), s=("f", 256))
    add("cosine_embedding", "F.cosine_embedding_loss(x, y, s.sign())", x=x, y=y, s=("f", 128))
    add("triplet", "F.triplet_margin_loss(x, y, z)", x=x, y=y, z=("f", 128, 64))
    add("poisson_nll", "F.poisson_nll_loss(x, y)", x=x, y=("u", 128, 64))
    add("gaussian_nll", "F.gaussian_nll_loss(x, y, v)", x=x, y=y, v=("u", 128, 64))
    add("ctc", "F.ctc_loss(x.log_softmax(-1), t, [50] * 8, [10] * 8)", x=("f", 50, 8, 20), t=("p", 20, 8, 10))
    add("ctc S", "F.ctc_loss(x.log_softmax(-1), t, [12] * 2, [4] * 2)", x=("f", 12, 2, 6), t=("p", 6, 2, 4))


def _steps(add: Any) -> None:
    for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam", "RAdam", "Adadelta", "Adamax", "ASGD", "Rprop"):
        add(f"{name} of 40 small", "o.step()", False, setup=(
            "import functools; ps = [nn.Parameter(T.ones(16, 16)) for _ in range(40)]\n"
            "for p in ps: p.grad = T.ones(16, 16)\n"
            f"o = T.optim.{name}(ps, lr=1e-4)"))  # fmt: skip
    add("SGD momentum of 40", "o.step()", False, setup=(
        "ps = [nn.Parameter(T.ones(16, 16)) for _ in range(40)]\n"
        "for p in ps: p.grad = T.ones(16, 16)\n"
        "o = T.optim.SGD(ps, lr=1e-4, momentum=0.9, nesterov=True, weight_decay=1e-2)"))  # fmt: skip
    add("Adam of a million", "o.step()", False, setup=(
        "ps = [nn.Parameter(T.ones(1024, 1024))]\nps[0].grad = T.ones(1024, 1024)\no = T.optim.Adam(ps, lr=1e-4)"))  # fmt: skip
    add("zero_grad of 40", "o.zero_grad()", False, setup=(
        "ps = [nn.Parameter(T.ones(16, 16)) for _ in range(40)]\no = T.optim.SGD(ps, lr=1e-4)"))  # fmt: skip
    for extra in ("norm_", "value_"):
        add(f"clip_grad_{extra} of 40", f"nn.utils.clip_grad_{extra}(ps, 1.0)", False, setup=(
            "ps = [nn.Parameter(T.ones(16, 16)) for _ in range(40)]\nfor p in ps: p.grad = T.ones(16, 16)"))  # fmt: skip
    add("collate", "c(items)", False, setup=(
        "c = T.utils.data.default_collate; items = [(T.ones(3, 32, 32), k) for k in range(32)]"))  # fmt: skip
    add("loader", "list(d)", False, setup=(
        "d = T.utils.data.DataLoader(T.utils.data.TensorDataset(T.ones(256, 16), T.ones(256)), 32, shuffle=True)"))  # fmt: skip
    add("print", "repr(x)", False, x=("f", 8, 8))
    add("print large", "repr(x)", False, x=("f", 1000, 1000))
    add("save", "T.save(s, io.BytesIO())", False, setup="import io; s = nn.Linear(64, 64).state_dict()")
    add("load", "T.load(io.BytesIO(b))", False, setup=(
        "import io; f = io.BytesIO(); T.save(nn.Linear(64, 64).state_dict(), f); b = f.getvalue()"))  # fmt: skip
    add("state_dict", "m.state_dict()", False, setup="m = nn.Sequential(*[nn.Linear(8, 8) for _ in range(10)])")
    add("load_state_dict", "m.load_state_dict(s)", False, setup=(
        "m = nn.Sequential(*[nn.Linear(8, 8) for _ in range(10)]); s = m.state_dict()"))  # fmt: skip
    add(
        "deepcopy",
        "copy.deepcopy(m)",
        False,
        setup="import copy; m = nn.Sequential(*[nn.Linear(8, 8) for _ in range(4)])",
    )
    add("make a layer", "nn.Linear(64, 64)", False)
    add("make a conv", "nn.Conv2d(16, 16, 3)", False)
    add("x.add_(1)", "x.add_(1)", False, x=("f", 64, 64))
    add("x.mul_(y)", "x.mul_(y)", False, x=("f", 64, 64), y=("f", 64, 64))
    add("x.zero_()", "x.zero_()", False, x=("f", 64, 64))
    add("x.copy_(y)", "x.copy_(y)", False, x=("f", 64, 64), y=("f", 64, 64))
    add("x.normal_()", "x.normal_()", False, x=("f", 64, 64))
    add("x.uniform_()", "x.uniform_()", False, x=("f", 64, 64))
    add("jacobian", "T.func.jacrev(lambda v: v.sin())(x)", False, x=("f", 16))
    add("vmap", "T.func.vmap(lambda v: (v * 2).sum())(x)", False, x=("f", 64, 16))
    add("autograd.grad", "T.autograd.grad((y * y).sum(), y)", False, setup="y = T.ones(8, 8, requires_grad=True)")


ROWS = {row.name: row for row in _rows()}
