"""`torch.onnx.export`: calls the model, hears what it computes, writes that as an ONNX graph."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from ..base.errors import only
from ..capture.program.functional import Functional
from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..utils import _pytree as pytree
from .errors import OnnxExporterError
from .recording import record
from .sizes import Symbols

DEFAULT_OPSET = 18
OLDEST = 13


# What PyTorch's export takes besides: about its own way, its reports and its older files.
_CHANGE_NOTHING = (
    "report optimize profile dump_exported_program artifacts_dir fallback dynamo do_constant_folding keep_initializers_as_inputs "
    "custom_opsets custom_translation_table export_modules_as_functions autograd_inlining operator_export_type"
)


def export(
    model: Any,
    args: Any = (),
    f: Any = None,
    *,
    kwargs: dict[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamic_axes: Any = None,
    dynamic_shapes: Any = None,
    training: Any = None,
    verify: bool = False,
    external_data: bool | None = None,
    metadata: dict[str, str] | None = None,
    export_params: bool = True,
    **ignored: Any,
) -> Any:
    """Write a model; see `rushlight.onnx.export`."""
    from .build import Builder
    from .program import ONNXProgram

    only("export", ignored, _CHANGE_NOTHING)
    opset = _opset(opset_version)
    if not export_params:
        raise OnnxExporterError("export_params=False: a file without weights is not written; leave it out")
    args, kwargs = _arguments(args, kwargs)
    leaves, tree = pytree.tree_flatten((args, kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    if not places:
        raise OnnxExporterError("args has no tensor: an ONNX graph needs an input")
    names = _names(input_names, len(places), "input")
    free = _free_axes(names, dynamic_axes, dynamic_shapes, [leaves[i] for i in places])
    sizes, runs = _runs([leaves[i] for i in places], free)
    heard, results = [], []
    with _as_exported(model, training):
        for tensors in runs:
            given = list(leaves)
            for i, t in zip(places, tensors):
                given[i] = t
            one, result = _heard(model, pytree.tree_unflatten(given, tree), tensors)
            heard.append(one)
            results.append(result)
    builder = Builder(heard, Symbols(sizes), opset, _labels(model))
    for number, name, axes in zip(heard[0].inputs, names, free):
        builder.add_input(number, name)
        for axis, symbol in axes.items():
            builder.g.sizes.setdefault(symbol, (name, axis))
    outs = [one.results for one in heard]
    given_names = _names(output_names, len(outs[0]), "output")
    if any(o != outs[0] for o in outs):
        raise OnnxExporterError("the model gives other results for another size of its inputs")
    builder.g.taken.update(given_names)
    builder.write()
    proto = builder.model(list(zip(heard[0].inputs, names)), list(zip(outs[0], given_names)), metadata or {})
    program = ONNXProgram(proto)
    if verify:
        _verify(program, runs, results, names)
    if f is not None:
        program.save(f, external_data=external_data)
    return program


def _opset(asked: int | None) -> int:
    try:
        import onnx
    except ImportError:
        raise OnnxExporterError("onnx.export needs the onnx package: pip install 'rushlight[onnx]'") from None
    newest = onnx.defs.onnx_opset_version()
    opset = DEFAULT_OPSET if asked is None else asked
    if not isinstance(opset, int) or not OLDEST <= opset <= newest:
        raise OnnxExporterError(f"opset_version={opset}: {OLDEST} to {newest} can be written")
    return opset


def _arguments(args: Any, kwargs: dict[str, Any] | None) -> tuple[tuple, dict[str, Any]]:
    """PyTorch's rule: a tensor alone is one argument, and a dict at the end are named ones."""
    args = args if isinstance(args, tuple) else tuple(args) if isinstance(args, list) else (args,)
    if kwargs is None and args and isinstance(args[-1], dict):
        return args[:-1], args[-1]
    return args, dict(kwargs or {})


def _names(given: Sequence[str] | None, count: int, kind: str) -> list[str]:
    named = list(given or [])
    if len(named) > count:
        raise OnnxExporterError(f"{len(named)} {kind} names were given, and there are {count} {kind}s")
    if len(set(named)) != len(named):
        raise OnnxExporterError(f"the {kind} names {named} are not all different")
    prefix = "input" if kind == "input" else "output"
    more = [f"{prefix}_{i}" if count > 1 else prefix for i in range(len(named), count)]
    return named + more


def _free_axes(names: list[str], axes: Any, shapes: Any, tensors: list[Tensor]) -> list[dict[int, str]]:
    """For each input, its free axes and their names."""
    found: list[dict[int, str]] = [{} for _ in names]
    if shapes is not None:
        listed = list(shapes.values()) if isinstance(shapes, dict) else list(shapes)
        entries = dict(zip(names, listed))
    else:
        entries = dict(axes or {})
    for name, entry in entries.items():
        if name not in names or entry is None:
            continue  # results find their sizes themselves
        place = names.index(name)
        rank = tensors[place].dim()
        pairs = entry.items() if isinstance(entry, dict) else [(a, None) for a in entry] if axes else list(enumerate(entry))  # fmt: skip
        for axis, label in pairs:
            if shapes is not None and (label is None or isinstance(label, int)):
                continue
            if not -rank <= axis < rank:
                raise OnnxExporterError(f"{name} has no axis {axis}: it has {rank}")
            text = str(getattr(label, "__name__", label))
            known = label is not None and text.isidentifier() and text not in ("AUTO", "DYNAMIC")
            found[place][axis % rank] = text if known else f"{name}_dim_{axis % rank}"
    return found


def _runs(tensors: list[Tensor], free: list[dict[int, str]]) -> tuple[dict[str, tuple[int, int]], list[list[Tensor]]]:
    """Sizes by name, and the inputs of the calls: as given, then with each free size one larger.

    A size of 1 means broadcasting in much code, so that a free one is 2 at least.
    """
    sizes: dict[str, tuple[int, int]] = {}
    for t, axes in zip(tensors, free):
        for axis, symbol in axes.items():
            size = max(t.shape[axis], 2)
            if sizes.setdefault(symbol, (size, size + 1))[0] != size:
                raise OnnxExporterError(f"{symbol} is {sizes[symbol][0]} in one input and {size} in another")

    def resized(changed: str | None) -> list[Tensor]:
        return [_resize(t, {a: sizes[s][s == changed] for a, s in axes.items()}) for t, axes in zip(tensors, free)]

    return sizes, [resized(None), *[resized(symbol) for symbol in sizes]]


def _resize(t: Tensor, sizes: dict[int, int]) -> Tensor:
    """A tensor with other sizes, filled by repeating what it holds; a copy in any case."""
    from ..operators.create.ranges import arange

    out = t.detach().clone()
    for axis, size in sizes.items():
        if out.shape[axis] != size:
            out = out.index_select(axis, (arange(size) % max(t.shape[axis], 1)).to(t.device))
    return out


@contextmanager
def _as_exported(model: Any, training: Any) -> Any:
    """No gradients; in eval mode, unless something else is asked for, and as it was afterwards."""
    wish = getattr(training, "name", "EVAL")
    modules = list(model.modules()) if hasattr(model, "modules") else []
    before = [(m, m.training) for m in modules]
    with ExitStack() as stack:
        stack.enter_context(no_grad())
        if modules and wish != "PRESERVE":
            model.train(wish == "TRAINING")
        try:
            yield
        finally:
            for m, was in before:
                m.training = was


def _heard(model: Any, call: Any, tensors: list[Tensor]) -> tuple[Functional, Any]:
    args, kwargs = call
    return record(lambda: model(*args, **kwargs), [t._a for t in tensors], lambda r: [t._a for t in _tensors(r)])


def _tensors(result: Any) -> list[Tensor]:
    found = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, Tensor)]
    if not found:
        raise OnnxExporterError("the model gives no tensor")
    return found


def _labels(model: Any) -> dict[int, str]:
    """The names of parameters and buffers, by their arrays."""
    if not hasattr(model, "state_dict"):
        return {}
    both = [*model.named_parameters(), *model.named_buffers()]
    return {id(t._a): name for name, t in reversed(both)}


def _verify(program: Any, runs: list[list[Tensor]], results: list[Any], names: list[str]) -> None:
    """Compare every call with what onnxruntime makes of the file."""
    import numpy as np

    session = program.session()
    for tensors, result in zip(runs, results):
        feed = {n: t.cpu().numpy() for n, t in zip(names, tensors)}
        wanted = [n.name for n in session.get_inputs()]
        found = session.run(None, {n: feed[n] for n in wanted})
        for ours, theirs in zip(_tensors(result), found):
            if not np.allclose(ours.cpu().numpy(), theirs, rtol=1e-3, atol=1e-5):
                raise OnnxExporterError("onnxruntime gives other numbers for the exported model")
