"""Random scripts, eager beside traced, compiled and PyTorch: all that can be seen of them must be the same.

    python tools/fuzz.py                     300 scripts
    python tools/fuzz.py 20000 --start 300   some more
    python tools/fuzz.py --seed 17           one, printed
    python tools/fuzz.py --script FILE       a script in a file, such as those in tests/capture/once_differed
    python tools/fuzz.py --device emulated   on a GPU that is emulated (EMULATED_GPU_FOLDER keeps its kernels)

`fuzz_words.py` writes the scripts, `fuzz_world.py` is what they find. Values, gradients, versions, states, random streams and
errors are compared in the order in which a script shows them, and at its end. What differs is made smaller, statement by
statement, and printed.
"""

from __future__ import annotations

import argparse
import ast
import gc
import random
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import fuzz_words
import numpy as np

import rushlight
from rushlight.capture.loops.in_calls import TracedCalls
from rushlight.core.hot import meeting
from rushlight.runtime.thread import here

ONCE = Path(__file__).resolve().parent.parent / "tests" / "capture" / "once_differed"
DEVICE = ["cpu"]
REPLAYED = [0]
# Where PyTorch is known to answer otherwise, the sides of rushlight are compared alone.
OURS = (
    "swap_tensors",  # PyTorch refuses a tensor that has views
    "buf.requires_grad_(",  # a view made before says True in PyTorch, and gives its base no gradient
    "optim.SparseAdam(net.parameters()",  # before it refuses dense gradients PyTorch counts a step of the others
    "use_reentrant=True",  # PyTorch refuses `grad` there
    "torch.compile(lambda",  # PyTorch's has no second derivatives
    "hook(lambda p: p.grad.mul_",  # the second such hook, which returns something, is given None in PyTorch
)
EXACT = "torch.set_default_dtype(torch.float64)\n"
SEEN: Counter[str] = Counter()  # how scripts ended


# -- sides ------------------------------------------------------------------------------------------


def traced_calls(fn: Any) -> Any:
    """The function with Python in every call, its kernels matched and run as programs."""
    tracer = TracedCalls(fn, "fuzzing")
    return lambda *args: tracer(args, {})


def plain(fn: Any) -> Any:
    return fn


# How a side runs a script: the library, whether its loops are traced, and what `compiled` does there.
SIDES: dict[str, tuple[str, bool, Callable[[Any], Any]]] = {
    "eager": ("rushlight", False, plain),
    "traced": ("rushlight", True, plain),
    "compiled": ("rushlight", False, rushlight.compile),
    "calls": ("rushlight", False, traced_calls),
    "torch": ("torch", False, plain),
}


@cache
def world(library: str) -> CodeType:
    text = (Path(__file__).parent / "fuzz_world.py").read_text()
    return compile(text.replace("rushlight", library), "<world>", "exec")


@cache
def code_of(script: str) -> CodeType:
    return compile(script, "<script>", "exec")


def run(script: str, side: str, wrap: Callable[[Any], Any] | None = None) -> Any:
    """What a script shows on one side, and how it ends."""
    library, loops, usual = SIDES[side]
    names: dict[str, Any] = {"__name__": "fuzzed", "compiled": usual if wrap is None else wrap}
    python = random.getstate()
    rushlight.tracing(False)
    meeting.barred, meeting.timed = None, False  # replayed, whether that pays or not
    try:
        exec(world(library), names)
        torch = names["torch"]
        torch.manual_seed(7)
        own = torch.get_default_dtype(), torch.is_grad_enabled()
        random.seed(5)
        if loops:
            rushlight.tracing(True)
        try:
            exec(code_of(script), dict(names))  # the world's functions keep their names
            names["show"]("ended")
        except Exception as error:  # noqa: BLE001 - errors are results, too
            names["show"](error)
        finally:
            found = names["finish"]()
            report = getattr(here.tracer, "report", None) if loops else None
            REPLAYED[0] += 0 if report is None else sum([row["replayed"] for row in report.loops])
            rushlight.tracing(False)
            torch.set_default_dtype(own[0])
            torch.set_grad_enabled(own[1])
        return [looked_at(value) for value in found]
    finally:
        random.setstate(python)


def looked_at(value: Any) -> Any:
    """Tensors as arrays of the widest kind, everything else as it is."""
    if isinstance(value, list):
        return [looked_at(v) for v in value]
    if not hasattr(value, "detach"):
        return value
    value = value.to_dense() if "sparse" in str(value.layout) else value
    value = value.detach().cpu()
    name = str(value.dtype)
    wide = value.resolve_conj().cdouble() if "complex" in name else value
    return (value.double() if "float" in name else wide).numpy().copy()


def use(device: str) -> None:
    """Have all tensors of the scripts made on a device."""
    if device == "emulated":
        emulate()
        device = "cuda"
    DEVICE[0] = device
    rushlight.set_default_device(None if device == "cpu" else device)


def emulate() -> None:
    """Make `cuda` a GPU whose kernels, graphs and programs run on the host."""
    import emulated_gpu

    from rushlight.base.config import settings
    from rushlight.capture.replay.replay import Replay

    if not emulated_gpu.drivers:
        emulated_gpu.install()
    import emulated_capture
    import emulated_cupy

    own = Replay._tensor
    emulated_capture.install()
    emulated_cupy.install()
    Replay._tensor = own  # type: ignore[method-assign]
    settings.trace = ""  # tools that emulate a GPU keep loops eager
    from rushlight.runtime.cuda.memory import reserved

    reserved.LEAST = 32  # bytes: even small arrays that nobody may look at have no memory


# -- differences ------------------------------------------------------------------------------------


class NothingMore(Exception):
    """After an error inside of `backward` PyTorch leaves some of the gradients, rushlight none."""


# Said of a second derivative where the call drew or wrote, so that it cannot be made again.
ONCE_ONLY = "the results of a compiled function are differentiated otherwise"[:40]
IN_BACKWARD = ("one of the variables needed for gradient", "Trying to backward through the graph")


INNER = ("version of a tensor", "version of a parameter")
UNCOUNTED = {"torch": INNER}  # `fuzz_world.Version`


def compared(a: Any, b: Any, side: str) -> str | None:
    """Where two sides differ, or None."""
    try:
        for k, (x, y) in enumerate(zip(a, b)):
            why = differs(x, y, side, f"[{k}]")
            if why is not None:
                return why
    except NothingMore:
        return None
    return None if len(a) == len(b) else f": parts, {len(a)} and {len(b)} are shown"


def differs(a: Any, b: Any, side: str, at: str = "") -> str | None:
    """Where a side differs from eager, or None; another library rounds otherwise and has other words."""
    other = side == "torch"
    if isinstance(b, list) and b[:1] == ["error"] and b[2] == ONCE_ONLY:
        raise NothingMore
    if other and isinstance(b, list) and b[:1] == ["error"]:
        raised = isinstance(a, list) and a[:1] == ["error"]
        if not raised and (IN_BACKWARD[0] in b[2] or b[1] == "NotImplementedError"):
            raise NothingMore  # PyTorch keeps more than it reads, or has no derivative
    if isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            return f"{at}: parts {str(a)[:150]} and {str(b)[:150]}"
        if other and a[:1] == ["error"] == b[:1]:
            if a[1] == b[1] and any(words in b[2] for words in IN_BACKWARD):
                raise NothingMore
            return None if a[1] == b[1] else f"{at}: raises {a[1:]} and {b[1:]}"
        if other and a[:1] == ["str"] == b[:1]:
            a, b = [re.sub(r"\brushlight\b", "torch", t[1]) for t in (a, b)]
            return None if a == b else f"{at}: {a} and {b}"
        if str(a[:1]).startswith("['version") and a[:1] == b[:1]:
            same = a[1] == b[1] or a[0] in UNCOUNTED.get(side, ())
            return None if same else f"{at}: versions {a[1]} and {b[1]}"
        for k, (x, y) in enumerate(zip(a, b)):
            why = differs(x, y, side, f"{at}[{k}]")
            if why is not None:
                return why
        return None
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.shape == b.shape and a.tobytes() == b.tobytes():
            return None  # nearly always: the same bits
        if a.shape != b.shape or not np.allclose(a, b, *near(other), equal_nan=True):
            return f"{at}: values {a.tolist()} and {b.tolist()}"
        same = other or (np.signbit(a[a == 0]) == np.signbit(b[a == 0])).all()
        return None if same else f"{at}: values differ in signs of 0"
    if isinstance(a, float) and isinstance(b, float):
        same = bool(np.isclose(a, b, *near(other), equal_nan=True))
        return None if same else f"{at}: values {a} and {b}"
    if other and isinstance(a, str) and isinstance(b, str):
        a = a.replace("rushlight", "torch")
    return None if a == b else f"{at}: {a!r} and {b!r}"


def near(other: bool) -> tuple[float, float]:
    return (1e-3, 1e-4) if other else (1e-4, 1e-5)


def check(script: str, sides: Any = SIDES, wraps: dict[str, Any] | None = None) -> tuple[str, str] | None:
    """The side on which a script differs from eager, and how; or None."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = run(script, "eager")
        SEEN[str(expected[-4][1])] += 1
        for side in sides:
            if side == "eager" or ("compiled" not in script and side in ("compiled", "calls")):
                continue
            other = side == "torch"
            if other and any(word in script for word in OURS):
                continue
            why = compared(expected, run(script, side, (wraps or {}).get(side)), side)
            if why is not None and other:
                why = beyond_rounding(script)
            if why is not None:
                return side, why[:400]
    return None


def beyond_rounding(script: str) -> str | None:
    """How rushlight and PyTorch differ in float64, unless PyTorch's own answer hangs on the last bits.

    An optimiser that divides by the size of a gradient makes numbers of what is but rounding, such as the gradient of a bias
    before a batch norm.
    """
    import torch.nn.functional as F

    exact = script if EXACT in script else EXACT + script
    expected = run(exact, "torch")
    why = compared(run(exact, "eager"), expected, "torch")
    if why is None:
        return None
    linear = F.linear
    F.linear = lambda *args: linear(*args) * (1 + 1e-13)
    try:
        shaken = compared(run(exact, "torch"), expected, "torch")
    finally:
        F.linear = linear
    return None if shaken is not None and kind_of(shaken) == kind_of(why) == "values" else why


# -- making it smaller ------------------------------------------------------------------------------


def smaller(script: str, wraps: dict[str, Any] | None = None) -> str:
    """The script without what is not needed for its difference."""
    found = check(script, wraps=wraps)
    if found is None:
        return script
    sides, kind = [found[0]], kind_of(found[1])
    if sides == ["torch"]:
        script = EXACT + script
    at = 0
    while at < len(list(_edits(ast.parse(script)))):
        text = edited(script, at)
        try:
            now = None if text is None else check(text, sides, wraps)
        except Exception:  # noqa: BLE001 - not a script any more
            now = None
        if text is not None and now is not None and kind_of(now[1]) == kind:
            script, at = text, max(0, at - 1)
        else:
            at += 1
    return script


def kind_of(why: str) -> str:
    """Errors must stay errors of the same kinds, values values, versions versions."""
    return re.sub(r"^[^:]*: ", "", why) if ": raises" in why else why.partition(": ")[2].split()[0]


def edited(script: str, at: int) -> str | None:
    """The script with one statement less, a block in place of what holds it, or an expression in place of a larger one."""
    tree = ast.parse(script)
    for k, edit in enumerate(_edits(tree)):
        if k == at:
            edit()
            break
    try:
        text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        compile(text, "<script>", "exec")
    except (SyntaxError, ValueError):
        return None
    return text if len(text) < len(script) else None


def _edits(tree: ast.AST) -> Iterator[Callable[[], None]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if not isinstance(body, list):
                continue
            for k in reversed(range(len(body))):
                yield lambda body=body, k=k: _put(body, k, [])
            for k, inner in enumerate(body):
                if isinstance(inner, (ast.If, ast.For, ast.While, ast.With, ast.Try)):
                    yield lambda body=body, k=k, inner=inner: _put(body, k, inner.body)
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            values = value if isinstance(value, list) else [value]
            for k, part in enumerate(values):
                if isinstance(part, ast.BinOp):
                    small: list[ast.expr] = [part.left, part.right]
                elif isinstance(part, ast.Call):
                    small = [*part.args]
                    small += [part.func.value] if isinstance(part.func, ast.Attribute) else []
                elif isinstance(part, ast.IfExp):
                    small = [part.body, part.orelse]
                else:
                    continue
                for by in small:
                    yield lambda node=node, name=name, value=value, k=k, by=by: (
                        value.__setitem__(k, by) if isinstance(value, list) else setattr(node, name, by)
                    )


def _put(body: list[ast.stmt], k: int, by: list[ast.stmt]) -> None:
    body[k : k + 1] = by
    if not body:
        body.append(ast.Pass())


# -- the command ------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("count", type=int, nargs="?", default=300)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--every", type=int, default=1, help="of the seeds (3: scripts of one kind)")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--script", type=Path)
    parser.add_argument("--sides", default="traced,compiled,calls,torch")
    parser.add_argument("--most", type=int, default=5, help="stop after so many differences")
    parser.add_argument("--plain", action="store_true", help="do not make scripts smaller")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda", "emulated"])
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    a = parser.parse_args()
    use(a.device)
    sides = [s for s in a.sides.split(",") if a.device == "cpu" or s != "torch"]
    if a.seed is not None or a.script is not None:
        text = fuzz_words.script(a.seed) if a.script is None else a.script.read_text()
        print(text)
        found = check(text, sides)
        print("no difference" if found is None else f"{found[0]}: {found[1]}\n{smaller(text)}")
        return 0
    gc.collect()
    gc.freeze()  # collections of what the scripts leave behind need not walk all of the library
    bad = 0
    end = time.monotonic() + a.seconds
    for seed in range(a.start, a.start + a.count * a.every, a.every):
        if time.monotonic() > end and seed > a.start:
            seed -= a.every
            break
        script = fuzz_words.script(seed)
        found = check(script, sides)
        if found is not None:
            bad += 1
            text = "" if a.plain else smaller(script)
            print(f"# seed {seed}: {found[0]}: {found[1]}\n{text}", flush=True)
            if bad >= a.most:
                break
        done = (seed - a.start) // a.every + 1
        if done % 500 == 0:
            print(f"{done} scripts, {bad} differ", flush=True)
    count = (seed - a.start) // a.every + 1
    print(f"{count} scripts ({SEEN.pop(repr('ended'), 0)} ended, others with {dict(SEEN)}), {bad} differ; {REPLAYED[0]} stretches were replayed")  # fmt: skip
    if not REPLAYED[0]:
        print("nothing was replayed, so nothing was compared: see `rushlight run --explain`")
    return 1 if bad or not REPLAYED[0] else 0


if __name__ == "__main__":
    sys.exit(main())
