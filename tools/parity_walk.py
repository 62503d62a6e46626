"""The databases of PyTorch's own tests, entry by entry: every way to call each is made by PyTorch and by rushlight."""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import torch
from parity_run import Build, Missing, Ours, differences, host, numbers, outcome, seen, written
from torch.testing._internal import autograd_function_db as functions
from torch.testing._internal import common_methods_invocations as invocations
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.common_optimizers import optim_db

import rushlight

DTYPES = ("float32", "float64", "complex64", "int64", "bool", "bfloat16")
FOREACH = ("unary", "binary", "pointwise", "reduce", "other")
# Messages by which PyTorch says that it cannot do something: doing it is no difference.
CANNOT = (
    "not implemented", "not supported", "unsupported", "not yet implemented", "does not support", "doesn't support",
    "Batching rule", "vmap", "forward AD", "derivative for", "data-dependent",
    "not differentiable", "not currently support", "only supports", "functorch", "Expected a proper Tensor",
    "batching rule", "tensor to use channels_last", "isn't implemented", "is not deterministic", "can't call numpy", "inconsistent range", "Cannot access data pointer", "unhandled",
)  # fmt: skip


@cache
def entries() -> dict[str, tuple[str, Any]]:
    """Every entry of the databases by a name of its own."""
    found: dict[str, tuple[str, Any]] = {}
    for op in invocations.op_db:
        if type(op.op).__name__ != "_JittedFunction":  # kernels of a GPU that its test writes itself
            found[named(op)] = "op", op
    for op in functions.autograd_function_db:
        found["function " + op.name] = "op", op
    for kind in FOREACH:
        for op in getattr(invocations, f"foreach_{kind}_op_db"):
            found["foreach " + op.name] = "op", op
    for module in module_db:
        found["module " + module.name] = "module", module
    for optimizer in optim_db:
        found["optim " + optimizer.optim_cls.__name__] = "optim", optimizer
    return found


def named(op: Any) -> str:
    return op.name + ("/" + op.variant_test_name if op.variant_test_name else "")


@dataclass(frozen=True)
class Choice:
    """Which cases of an entry are run: by their names and a seed one in `share`, at most `most` of a kind.

    A sample has of every entry a plain call; dtypes and ways to call it take turns by the seed.
    """

    seed: int = 0
    share: int = 1
    most: int = 6

    def takes(self, name: str) -> bool:
        """Whether a sample has something of this dtype, or this way to call an entry."""
        return self.share == 1 or not zlib.crc32(f"{self.seed} {name}".encode()) % 3

    def of(self, cases: Iterable[Any], name: str, most: int | None = None) -> Iterator[tuple[int, Any]]:
        """Some of the cases, spread over all of them, with their numbers."""
        listed = list(enumerate(cases))
        few = -(-min(most or self.most, len(listed)) // self.share)
        key = lambda pair: zlib.crc32(f"{self.seed} {name} {pair[0]}".encode())
        return iter(sorted(sorted(listed, key=key)[:few], key=lambda pair: pair[0]))


@dataclass
class Call:
    """One call that was written down, for one framework."""

    lib: Any
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    build: Build
    seed: int
    after: Callable[..., Any] | None = None  # what PyTorch's test makes of the results before it derives them

    def made(self, given: Iterable[Any] | None = None) -> tuple[tuple[Any, ...], dict[str, Any], list[Any]]:
        """Arguments anew, or with these tensors in their places; and the tensors among them."""
        build = replace(self.build, tensors=[])
        if given is not None:
            rest = iter(given)
            build.tensor = lambda held: next(rest)  # type: ignore[method-assign]
        return build(self.args), build(self.kwargs), build.tensors

    def results(self, given: Iterable[Any]) -> list[Any]:
        """The tensors that come out, by the way PyTorch derives them in its tests."""
        args, kwargs, _ = self.made(given)
        out = self.fn(*args, **kwargs)
        return tensors(self.after(out) if self.after else out)

    def like(self, t: Any, number: int) -> Any:
        """Numbers for a tangent or a gradient; the same in both frameworks."""
        made = np.random.RandomState(self.seed % 2**31 + number).randn(*t.shape)
        if t.dtype.is_complex:
            made = made + 1j * np.random.RandomState(number).randn(*t.shape)
        return self.lib.from_numpy(np.asarray(made)).to(t.dtype).to(t.device)


def tensors(value: Any) -> list[Any]:
    if isinstance(value, (torch.Tensor, rushlight.Tensor)):
        return [value]
    if isinstance(value, dict):
        value = tuple(value.values())
    return [t for v in value for t in tensors(v)] if isinstance(value, (list, tuple)) else []


def derivable(t: Any) -> bool:
    return bool(t.dtype.is_floating_point or t.dtype.is_complex)


def forward(c: Call) -> Any:
    args, kwargs, inputs = c.made()
    out = c.fn(*args, **kwargs)
    return {"out": seen(out, inputs), "inputs": seen([t.detach() for t in inputs], [])}


def grad(c: Call, second: bool = False) -> Any:
    _, _, inputs = c.made()
    wanted = [t for t in inputs if t.requires_grad]
    outs = [o for o in c.results(inputs) if o.requires_grad and derivable(o)]
    if not wanted or not outs:
        return {"outs": len(outs)}
    coming = [c.like(o, i).requires_grad_(second) for i, o in enumerate(outs)]
    first = c.lib.autograd.grad(outs, wanted, coming, create_graph=second, allow_unused=True)
    if not second:
        return {str(i): numbers(g) for i, g in enumerate(first)}
    live = [(g, c.like(g, 7 + i)) for i, g in enumerate(first) if g is not None and g.requires_grad]
    said = {"graph": [g is not None and g.requires_grad for g in first]}
    if live:
        derived, over = zip(*live)
        found = c.lib.autograd.grad(derived, wanted + coming, over, allow_unused=True)
        # A derivative that is zero may as well be none.
        said |= {str(i): numbers(c.lib.zeros_like(t) if g is None else g) for i, (g, t) in enumerate(zip(found, wanted + coming))}  # fmt: skip
    return said


def second(c: Call) -> Any:
    return grad(c, second=True)


def jvp(c: Call) -> Any:
    _, _, inputs = c.made()
    forward_ad = c.lib.autograd.forward_ad
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(t.detach(), c.like(t, i)) if t.requires_grad else t for i, t in enumerate(inputs)]
        found = [forward_ad.unpack_dual(o).tangent for o in c.results(duals) if derivable(o)]
        # A tangent that is zero may as well be none.
        return {str(i): None if t is None or not host(t).any() else numbers(t) for i, t in enumerate(found)}


def stacked(c: Call) -> list[Any]:
    _, _, inputs = c.made()
    return [c.lib.stack([t, t * 0.9 if derivable(t) else t]).detach() for t in inputs]


def vmap(c: Call) -> Any:
    rows = stacked(c)
    found = c.lib.vmap(lambda *ts: tuple(c.results(ts)))(*rows) if rows else ()
    return seen([t.detach() for t in found], [])


def vmapgrad(c: Call) -> Any:
    _, _, inputs = c.made()
    wanted = tuple(i for i, t in enumerate(inputs) if t.requires_grad)
    if not wanted:
        return None

    def total(*ts: Any) -> Any:
        outs = [o for o in c.results(ts) if derivable(o)]
        return sum((o * c.like(o, i)).sum().abs() for i, o in enumerate(outs))

    found = c.lib.vmap(c.lib.func.grad(total, argnums=wanted))(*stacked(c))
    return {str(i): numbers(t) for i, t in enumerate(found)}


def inplace(c: Call) -> Any:
    args, kwargs, _ = c.made()
    own = [t.clone() if t.requires_grad else t for t in tensors(args[0])]
    first = own[0] if not isinstance(args[0], (list, tuple)) else own
    before = [(tuple(t.shape), t.dtype) for t in own]
    out = c.fn(first, *args[1:], **kwargs)
    return {"is": out is first, "kept": before == [(tuple(t.shape), t.dtype) for t in own], "out": seen(own, [])}


def given_out(c: Call, how: str) -> Any:
    with c.lib.no_grad():
        args, kwargs, _ = c.made()
        expected = c.fn(*args, **kwargs)
        several = isinstance(expected, (list, tuple))
        outs = [_place(c.lib, t, how) for t in tensors(expected)]
        args, kwargs, inputs = c.made()
        place = tuple(outs) if several else outs[0]
        said = c.fn(*args, **kwargs, out=list(outs) if isinstance(expected, list) else place)
        same = [a is b for a, b in zip(tensors(said), outs)] if said is not None else None
        return {"is": same, "out": seen(outs, inputs)}


def _place(lib: Any, t: Any, how: str) -> Any:
    if how == "none":
        return lib.empty(0, dtype=t.dtype, device=t.device)
    if how == "gaps":
        wide = lib.zeros((*t.shape, 2), dtype=t.dtype, device=t.device)
        return wide.select(-1, 0)
    return lib.zeros(t.shape, dtype=lib.int32 if derivable(t) else lib.bool, device=t.device)


def out_none(c: Call) -> Any:
    return given_out(c, "none")


def out_gaps(c: Call) -> Any:
    return given_out(c, "gaps")


def out_dtype(c: Call) -> Any:
    return given_out(c, "dtype")


PROBES: dict[str, Callable[[Call], Any]] = {
    "call": forward, "grad": grad, "second": second, "jvp": jvp, "vmap": vmap, "vmapgrad": vmapgrad,
    "inplace": inplace, "out": out_none, "outgaps": out_gaps, "outdtype": out_dtype, "method": forward,
    "operator": forward, "name": forward,
}  # fmt: skip
DERIVE = ("grad", "second", "jvp", "vmapgrad")
MOST = {"call": 20, "grad": 10, "reference": 20, "error": 1000}


@dataclass
class Walk:
    """What differs in an entry: (kind, in words) each, and how many calls were made."""

    device: str = "cpu"
    choice: Choice = Choice()
    probes: tuple[str, ...] = ()  # only these, where some are named
    dtypes: tuple[str, ...] = ()
    runs: int = 0

    def __post_init__(self) -> None:
        self.ours = Ours(self.device)
        if self.device != "cpu":
            rushlight.backends.cudnn.allow_tf32 = False  # float32 beside PyTorch's on the CPU

    def entry(self, name: str) -> list[tuple[str, str]]:
        kind, info = entries()[name]
        return list(dict.fromkeys(getattr(self, kind)(name, info)))

    def both(self, name: str, kind: str, probe: Callable[[Any, Build], Any], seed: int) -> Iterator[tuple[str, str]]:
        """`probe` under PyTorch, then under rushlight; what differs."""
        self.runs += 1
        want = outcome(lambda: probe(torch, Build(torch, "cpu", self.ours)), torch, seed)
        if isinstance(want, Exception) and kind not in ("call", "error", "reference"):
            if isinstance(want, NotImplementedError) or any(w in str(want) for w in CANNOT):
                return
        got = outcome(lambda: probe(rushlight, Build(rushlight, self.device, self.ours)), rushlight, seed)
        for aspect, said in differences(want, got):
            yield aspect if kind == "call" else f"{kind}:{aspect}", f"{name} {kind}: {said}"

    def wants(self, probe: str) -> bool:
        return not self.probes or probe in self.probes

    def op(self, name: str, op: Any) -> Iterator[tuple[str, str]]:
        types = [d for d in DTYPES if getattr(torch, d) in op.supported_dtypes("cpu")]
        types = [d for d in types or ["float32"] if not self.dtypes or d in self.dtypes]
        for dtype in types[:1] + [d for d in types[1:] if self.choice.takes(f"{name} {d}")]:
            for probe, fn, samples in self.ways(name, op, dtype):
                if probe != "call" and not self.choice.takes(f"{name} {dtype} {probe}"):
                    continue
                most = MOST.get(probe.partition(":")[0])
                for number, sample in self.choice.of(samples, f"{name} {dtype} {probe}", most):
                    yield from self.sample(f"{name} {dtype} {number}", op, probe, fn, sample)
        if self.wants("error") and op.error_inputs_func is not None:
            fresh(name, self.choice.seed)
            try:
                wrong = list(op.error_inputs("cpu"))
            except Exception:
                wrong = []
            for number, error in self.choice.of(wrong, f"{name} error", MOST["error"]):
                yield from self.sample(f"{name} {number}", op, "error", op.op, error.sample_input, error.error_regex)

    def ways(self, name: str, op: Any, dtype: str) -> Iterator[tuple[str, Any, list[Any]]]:
        """(kind, the function, samples) for each way to call the entry."""
        kind = getattr(torch, dtype)
        fresh(f"{name} {dtype}", self.choice.seed)
        derive = op.supports_autograd and kind in op.supported_backward_dtypes("cpu")
        samples = list(op.sample_inputs("cpu", kind, requires_grad=derive))
        plain = [s for s in samples if not getattr(s, "broadcasts_input", False)]
        made = [("call", op.op, samples)]
        if derive:
            made.append(("grad", op.op, samples))
            if dtype != "bfloat16":  # what is rounded between two derivatives is nobody's rule
                made += [("second", op.op, samples)] * op.supports_gradgrad
                made += [("jvp", op.op, samples)] * op.supports_forward_ad
            made += [("vmapgrad", op.op, samples)] * (dtype in ("float32", "complex64"))
        made += [("vmap", op.op, samples)] * (dtype in ("float32", "int64"))
        if op.inplace_variant:
            made.append(("inplace", op.inplace_variant, plain))
        if op.supports_out:
            made += [(way, op.op, samples) for way in ("out", "outgaps", "outdtype")]
        if op.method_variant:
            made.append(("method", op.method_variant, samples))
        if getattr(op, "operator_variant", None):
            made.append(("operator", op.operator_variant, samples))
        if dtype in ("float32", "int64"):
            made += [("name:" + a.name, a.op, samples[:2]) for a in getattr(op, "aliases", ())]
        yield from (way for way in made if self.wants(way[0].partition(":")[0]))
        if self.wants("reference") and op.reference_inputs_func is not None:
            more = list(itertools.islice(op.reference_inputs("cpu", kind, requires_grad=False), len(samples), 400))
            yield "reference", op.op, more

    def sample(
        self, where: str, op: Any, probe: str, fn: Any, sample: Any, regex: str | None = None
    ) -> Iterator[tuple[str, str]]:
        probe = probe.partition(":")[0]
        try:
            args, kwargs = written(((sample.input, *sample.args), sample.kwargs))
        except NotImplementedError:  # a layout that cannot be written down
            return
        seed = zlib.crc32(f"{self.choice.seed} {where}".encode())
        wrapper = getattr(op, "gradcheck_wrapper", None) if probe in DERIVE else None
        after = getattr(sample, "output_process_fn_grad", None) if probe in DERIVE else None

        def run(lib: Any, build: Build) -> Any:
            there = (lambda value: value) if lib is torch else self.ours
            called = there(fn)
            if called is None:
                raise Missing(where)
            if wrapper is not None:
                wrapped, inner = there(wrapper), called
                called = lambda *a, **k: wrapped(inner, *a, **k)
            call = Call(lib, called, args, kwargs, build, seed, there(after) if after else None)
            try:
                return PROBES.get(probe, forward)(call)
            except Exception as error:
                error.regex = regex  # type: ignore[attr-defined]
                raise

        yield from self.both(where, probe, run, seed)

    def module(self, name: str, info: Any) -> Iterator[tuple[str, str]]:
        path = "nn." + info.module_cls.__name__
        for dtype, training in itertools.product(("float32", "float64"), (True, False)):
            fresh(f"{name} {dtype} {training}", self.choice.seed)
            cases = info.module_inputs_func(info, device="cpu", dtype=getattr(torch, dtype), requires_grad=True, training=training)  # fmt: skip
            for number, case in self.choice.of(cases, f"{name} {dtype} {training}"):
                given = (case.constructor_input, case.forward_input)
                try:
                    taken = [written((tuple(i.args), i.kwargs)) for i in given]
                except NotImplementedError:  # a module among the arguments
                    continue
                run = lambda lib, build: _module(lib, build, path, taken, training, zlib.crc32(name.encode()))
                yield from self.both(f"{name} {dtype} {number} training={training}", "call", run, number)
        if info.module_error_inputs_func is None or not self.wants("error"):
            return
        fresh(name, self.choice.seed)
        wrong = info.module_error_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=True)  # fmt: skip
        for number, case in self.choice.of(wrong, name + " error", MOST["error"]):
            given = case.module_error_input
            inputs = [given.constructor_input, given.forward_input]
            taken = [written((tuple(i.args), i.kwargs)) if i else None for i in inputs]
            run = lambda lib, build: _regex(case.error_regex, lambda: _module(lib, build, path, taken, True, 0))
            yield from self.both(f"{name} {number}", "error", run, number)

    def optim(self, name: str, info: Any) -> Iterator[tuple[str, str]]:
        path = "optim." + info.optim_cls.__name__
        cases = info.optim_inputs_func(device="cpu")
        for number, case in self.choice.of(cases, name, 100):
            run = lambda lib, build: _optimizer(lib, build, path, written(case.kwargs))
            yield from self.both(f"{name} {case.desc}", "call", run, number)
        wrong = info.optim_error_inputs_func(device="cpu", dtype=torch.float32) if info.optim_error_inputs_func and self.wants("error") else ()  # fmt: skip
        for number, case in self.choice.of(wrong, name + " error", MOST["error"]):
            given = case.optimizer_error_input
            params, kwargs = written((given.params, given.kwargs))
            run = lambda lib, build: _regex(case.error_regex, lambda: str(build.ours.named(path) if lib is rushlight else info.optim_cls)[:0] or _made(lib, build, path, params, kwargs))  # fmt: skip
            yield from self.both(f"{name} {number}", "error", run, number)


def _regex(regex: str, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        error.regex = regex  # type: ignore[attr-defined]
        raise


def _made(lib: Any, build: Build, path: str, params: Any, kwargs: Any) -> Any:
    cls = getattr(lib.optim, path.partition(".")[2])
    given = [lib.nn.Parameter(t) if derivable(t) else t for t in tensors(build(params))] if isinstance(params, list) and not isinstance(params[0] if params else None, dict) else build(params)  # fmt: skip
    cls(given, **build(kwargs))
    return None


def _module(lib: Any, build: Build, path: str, taken: list[Any], training: bool, seed: int) -> Any:
    """A module made with the same seed: its numbers, what it computes, its gradients."""
    (args, kwargs), inputs = build(taken[0]), taken[1]
    lib.manual_seed(seed)
    module = getattr(lib.nn, path.partition(".")[2])(*args, **kwargs)
    module.train(training)
    state = {n: numbers(t) for n, t in module.state_dict().items() if not isinstance(t, (lib.nn.UninitializedParameter, lib.nn.UninitializedBuffer))}  # fmt: skip
    if inputs is None:
        return state
    first = replace(build, tensors=[])
    args, kwargs = first(inputs)
    if build.device != "cpu":
        module.to(build.device)
    out = module(*args, **kwargs)
    said = {"state": state, "out": seen(out, first.tensors)}
    live = [o for o in tensors(out) if o.requires_grad]
    if live:
        wanted = [*module.parameters(), *(t for t in first.tensors if t.requires_grad)]
        call = Call(lib, module, (), {}, build, seed)
        found = lib.autograd.grad(live, wanted, [call.like(o, i) for i, o in enumerate(live)], allow_unused=True)
        said["grads"] = {str(i): numbers(g) for i, g in enumerate(found)}
        said["after"] = {n: numbers(t) for n, t in module.state_dict().items()}
    return said


def _optimizer(lib: Any, build: Build, path: str, kwargs: dict[str, Any]) -> Any:
    """Five steps of a small regression; parameters and state after them."""
    lib.manual_seed(0)
    cls = getattr(lib.optim, path.partition(".")[2])
    rng = np.random.RandomState(1)
    matrix = path.endswith("Muon")
    sizes = [(4, 3), (3, 3)] if matrix else [(4, 3), (3,)]
    params = [lib.nn.Parameter(lib.from_numpy(rng.randn(*s).astype("float32"))) for s in sizes]
    params = [lib.nn.Parameter(p.detach().to(build.device)) for p in params]
    x = lib.from_numpy(rng.randn(5, 4).astype("float32")).to(build.device)
    optimizer = cls(params, **build(kwargs))

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (x @ params[0] @ params[1]).pow(2).sum() if matrix else (x @ params[0] + params[1]).pow(2).sum()
        loss.backward()
        if path.endswith("SparseAdam"):
            for p in params:
                p.grad = p.grad.to_sparse()
        return loss

    for _ in range(5):
        closure()
        optimizer.step(closure)
    state = optimizer.state_dict()["state"]
    return {
        "params": {str(i): numbers(p) for i, p in enumerate(params)},
        "state": {f"{i} {k}": numbers(v) if hasattr(v, "detach") else seen(v, []) for i, s in state.items() for k, v in s.items()},
    }  # fmt: skip


def fresh(name: str, seed: int) -> None:
    """The generators by which samples are drawn start from the entry's name and the walk's seed."""
    seed = zlib.crc32(f"{seed} {name}".encode())
    torch.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)
