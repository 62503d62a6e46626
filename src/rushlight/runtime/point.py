"""Pointwise ops in one text each: the record, and the printers that say it in CUDA and in the engine's C.

Nothing here needs more than Python itself: the build loads this file alone, reads the records beside the ops and writes
the engine's codes, loops and entries (`header`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any


class Point:
    """How one op computes an element: the names of its inputs and attributes, and its text per kind of numbers.

    Texts are Python: `b if a else c`, `and`, `max`, `min`, `abs`; numbers and attributes are of the type T that is computed
    in, R is its real type, NARROW whether the result is stored in half precision. `?` behind a name says that it may be
    None: then `max`, `min` and comparisons with it are left out. Names that end in `:int` are ints.
    """

    __slots__ = ("attrs", "by_hand", "cost", "engine", "inputs", "loss", "main", "optional", "out", "texts")

    def __init__(
        self,
        names: str = "",
        text: str | Mapping[str, str] = "",
        *,
        all: str | None = None,  # noqa: A002 - every kind but complex
        out: str = "same",
        main: int = 0,
        engine: str | Mapping[str, str] = "",
        cost: str = "",
        by_hand: bool = False,
        loss: bool = False,
        **kinds: str,
    ) -> None:
        inputs, _, attrs = names.partition("|")
        self.optional = frozenset([n[:-1] for n in names.split() if n.endswith("?")])
        self.inputs = tuple(inputs.replace("?", "").split())
        self.attrs = tuple(attrs.replace("?", "").split())
        self.out = out  # what is stored: "same" the main input's dtype, "bool", "real", "complex"
        self.main = main  # the input whose dtype is T's
        # kind (f, i, u, b, c) -> text; of floats also one for each value of the only attribute
        self.texts: dict[str, Any] = {} if all is None else dict.fromkeys("fiub", all)
        for letters, one in kinds.items():
            self.texts |= dict.fromkeys(letters, one)
        if text:
            self.texts["f"] = text
        self.engine = engine or self.texts.get("f", "")  # the text that the engine's bits follow
        self.cost = cost  # what it costs the engine, which has no loop of it otherwise
        self.by_hand = by_hand or loss  # its binding there does more than pass its arrays on
        self.loss = loss  # of a pair of numbers, which is reduced, or its slope, which is multiplied

    def missing(self, operands: Iterable[Any], attrs: Mapping[str, Any]) -> frozenset[str]:
        """The names of a call's operands and attributes that are None."""
        if not self.optional:
            return self.optional
        given = {**dict(zip(self.inputs, operands)), **attrs}
        return frozenset([name for name in self.optional if given.get(name, 0) is None])

    @property
    def is_chosen(self) -> bool:
        """Whether the only attribute chooses among texts."""
        return not isinstance(self.texts.get("f", ""), str)

    def choice(self, attrs: Mapping[str, Any]) -> str:
        """The value of that attribute; "" where nothing is chosen."""
        return attrs[self.attrs[0]] if self.is_chosen else ""


# -- printers -------------------------------------------------------------------------------------

_ORDER: dict[type, tuple[int, str]] = {
    ast.Or: (2, "||"), ast.And: (3, "&&"), ast.BitOr: (4, "|"), ast.BitXor: (5, "^"), ast.BitAnd: (6, "&"),
    ast.Eq: (7, "=="), ast.NotEq: (7, "!="), ast.Lt: (8, "<"), ast.LtE: (8, "<="), ast.Gt: (8, ">"), ast.GtE: (8, ">="),
    ast.Add: (9, "+"), ast.Sub: (9, "-"), ast.Mult: (10, "*"), ast.Div: (10, "/"),
    ast.USub: (11, "-"), ast.Not: (11, "!"), ast.Invert: (11, "~"),
}  # fmt: skip


def parsed(text: str, missing: Iterable[str] = ()) -> ast.expr:
    """A text as a tree, without what is said of names that are missing."""
    tree = ast.parse(text, mode="eval").body
    return _Pruned(frozenset(missing)).visit(tree) if missing else tree


class _Pruned(ast.NodeTransformer):
    """Leaves out the bounds that are missing, and what is asked of them."""

    def __init__(self, missing: frozenset[str]) -> None:
        self.missing = missing

    def _kept(self, nodes: list[ast.expr]) -> list[ast.expr]:
        return [n for n in nodes if not self.missing & {m.id for m in ast.walk(n) if isinstance(m, ast.Name)}]

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        kept = self._kept(node.args)
        return kept[0] if len(kept) == 1 < len(node.args) else node

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        kept = self._kept(node.values)
        return kept[0] if len(kept) == 1 else node


class _Printer:
    """A tree as C: operators with the parentheses that they need, and what is special to one language."""

    calls: dict[str, str] = {}
    constants: dict[str, str] = {}

    def __init__(self, text: str, names: Mapping[str, str]) -> None:
        self.text, self.names = text, names

    def number(self, spelt: str) -> str:
        raise NotImplementedError

    def choice(self, node: ast.IfExp) -> tuple[int, str]:
        raise NotImplementedError

    def both(self, node: ast.BoolOp) -> tuple[int, str]:
        raise NotImplementedError

    def call(self, name: str) -> str:
        return self.calls.get(name, name)

    def show(self, node: ast.expr, least: int = 0) -> str:
        """The text of a part, in parentheses where it binds less than `least`."""
        order, text = self.pair(node)
        return f"({text})" if order < least else text

    def pair(self, node: ast.expr) -> tuple[int, str]:
        if isinstance(node, ast.Constant):
            if isinstance(node.value, bool):
                return 12, str(node.value).lower()
            return 12, self.number(self.text[node.col_offset : node.end_col_offset])
        if isinstance(node, ast.Name):
            return 12, self.names.get(node.id) or self.constants.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            return 12, f"{self.show(node.value, 12)}.{node.attr}"
        if isinstance(node, ast.Call):
            assert isinstance(node.func, ast.Name)
            if node.func.id == "R":  # a number as it stands
                return 12, ast.get_source_segment(self.text, node) or ""
            return 12, f"{self.call(node.func.id)}({', '.join(self.show(a) for a in node.args)})"
        if isinstance(node, ast.IfExp):
            return self.choice(node)
        if isinstance(node, ast.BoolOp):
            return self.both(node)
        if isinstance(node, ast.UnaryOp):
            order, sign = _ORDER[type(node.op)]
            inner = node.operand
            if isinstance(node.op, ast.USub) and isinstance(inner, ast.Constant):
                return 12, self.number("-" + self.text[inner.col_offset : inner.end_col_offset])
            return order, sign + self.show(inner, order)
        if isinstance(node, ast.Compare):
            (op,), (right,), left = node.ops, node.comparators, node.left
        else:
            assert isinstance(node, ast.BinOp)
            op, right, left = node.op, node.right, node.left  # type: ignore[assignment]
        order, sign = _ORDER[type(op)]
        return order, f"{self.show(left, order)} {sign} {self.show(right, order + 1)}"


class _Cuda(_Printer):
    calls = {"max": "top", "min": "bottom", "abs": "fabs", "cplx": "cplx<T>"}
    constants = {"inf": "inf_of<T>()", "nan": "nan_of<T>()"}

    def number(self, spelt: str) -> str:
        return f"T({spelt})"

    def choice(self, node: ast.IfExp) -> tuple[int, str]:
        return (1, f"{self.show(node.test, 2)} ? {self.show(node.body, 2)} : {self.show(node.orelse)}")

    def both(self, node: ast.BoolOp) -> tuple[int, str]:
        order, sign = _ORDER[type(node.op)]
        return order, f" {sign} ".join(self.show(v, 4) for v in node.values)


class _Vectors(_Printer):
    """The engine's vectors of floats: simd.h, k_point.h."""

    calls = {"max": "nan_max", "min": "nan_min", "cdf": "vnormal", "softplus1": "vsoftplus", "gelu_inner": "gelu_inner", "clip": "clip"}  # fmt: skip
    constants = {"inf": "spread(INFINITY)"}

    def number(self, spelt: str) -> str:
        return f"spread({spelt if '.' in spelt else spelt + '.0'}f)"

    def call(self, name: str) -> str:
        return self.calls.get(name, f"v{name}")

    def choice(self, node: ast.IfExp) -> tuple[int, str]:
        if isinstance(node.test, ast.Name) and node.test.id == "NARROW":
            return self.pair(node.orelse)
        return 12, f"pick({', '.join(self.show(n) for n in (node.test, node.body, node.orelse))})"

    def both(self, node: ast.BoolOp) -> tuple[int, str]:
        sign = " & " if isinstance(node.op, ast.And) else " | "
        return 4, sign.join(self.show(v, 9) for v in node.values)


def cuda(text: str, names: Iterable[str] = (), missing: Iterable[str] = ()) -> str:
    """A text in CUDA; `names` are the inputs and attributes, before which constants of their name stand back."""
    return _Cuda(text, {n: n for n in names}).show(parsed(text, missing))


# -- the engine's header --------------------------------------------------------------------------


def records(source: str) -> dict[str, Point]:
    """The engine's records of a file, by the op's name: literals `point=Point(..., cost=...)` of calls that have one."""
    found: dict[str, Point] = {}

    def look(node: ast.AST, name: str) -> None:
        if isinstance(node, ast.Call):
            said = [a.value for a in node.args[:2] if isinstance(a, ast.Constant)]
            name = next((s for s in said if isinstance(s, str)), name)
            for word in node.keywords:
                made = word.value
                if word.arg not in _WORDS or not isinstance(made, ast.Call):
                    continue
                if any(k.arg == "cost" for k in made.keywords):
                    args = [ast.literal_eval(a) for a in made.args]
                    options = {str(k.arg): ast.literal_eval(k.value) for k in made.keywords}
                    found[name + _WORDS[word.arg]] = Point(*args, **options)
        for child in ast.iter_child_nodes(node):
            look(child, name)

    look(ast.parse(source), "")
    return found


_WORDS = {"point": "", "slope": "_grad", "each": "", "each_slope": "_grad"}  # what a maker's argument is a record of


def header(points: Mapping[str, Point]) -> str:
    """What the engine's C includes: codes of ops, their cases in its loops, and entries of its table of kernels."""
    kinds: dict[str, list[tuple[str, str, Point]]] = {k: [] for k in _LOOPS}
    for op, p in points.items():
        if p.cost:
            texts = {"": p.engine} if isinstance(p.engine, str) else p.engine
            for choice, text in texts.items():
                kinds[_kind(op, p)].append((f"{op} {choice}".strip(), text, p))
    lines = ["/* Written by setup.py from the records of pointwise ops. */"]
    codes, entries = [], []
    for kind, (prefix, _, bind) in _LOOPS.items():
        own = [f"{prefix}_{_constant(name)}" for name, _, _ in kinds[kind]]
        if kind == "T":  # the codes of the losses themselves
            own = [code.removesuffix("_GRAD") for code in own]
        else:
            lines.append(f"enum {{ {', '.join([*own, f'{prefix}_MADE'])} }};")
        cases = []
        for code, (name, text, p) in zip(own, kinds[kind]):
            cases.append(f"case {code}: {{ {_loop(kind, text, p)} break; }}")
            if kind in "UBG":
                codes.append(f'{{"{name}", {kind}, {code}}},')
            if kind == "B":
                codes += [f'{{"{s}", SCALAR, {code}}},' for s in (f"{name} number", f"number {name}")]
            if not p.by_hand:
                words = ", ".join(f'"{a}"' for a in p.attrs if kind in "AS")
                takes = {"G": ", .copies = COPIES", "S": ", .copies = COPIES", "B": ', .rounds = "0"'}
                told = takes.get(kind, "") + (f", .names = {{{words}}}" if words else "")
                entries.append(f'POINT("{name}", {bind}, {p.cost}, .which = {code}{told}),')
        lines += _macro(f"CASES_{kind}", cases)
        if kind == "B":  # beside a number, which is a vector y already
            lines += _macro("CASES_NUMBER", [c.replace("EACH2", "EACH1") for c in cases])
    lines += _macro("POINT_CODES", codes)
    return "\n".join(lines + _macro("POINT_ENTRIES", entries)) + "\n"


# One operand, two, a derivative of one; the same two with parameters; a loss of a pair and its slope: prefix of codes, arrays, what binds them.
_LOOPS = {
    "U": ("U", "x", "unary"), "B": ("B", "xy", "binary"), "G": ("G", "xy", "slope"),
    "A": ("A", "x", "active"), "S": ("AG", "xy", "active_grad"), "L": ("L", "xy", ""), "T": ("L", "xy", ""),
}  # fmt: skip


def _arrays(p: Point) -> list[str]:
    return [name for name in p.inputs if name not in p.optional]


def _parameters(p: Point) -> list[str]:
    chosen = not isinstance(p.engine, str)
    return [n for n in (*p.inputs, *(() if chosen else p.attrs)) if n not in _arrays(p)]


def _kind(op: str, p: Point) -> str:
    if p.loss:
        return "T" if op.endswith("_grad") else "L"
    if len(_arrays(p)) == 1:
        return "A" if _parameters(p) else "U"
    if _arrays(p)[0] not in ("gy", "dy"):
        return "B"
    return "S" if _parameters(p) else "G"


def _loop(kind: str, text: str, p: Point) -> str:
    """The loop over vectors: those that take long and have no parameters are computed two at a time."""
    names = dict(zip((*_arrays(p), *_parameters(p)), (*_LOOPS[kind][1], *"abc")))
    two = p.cost != "CHEAP" and kind != "S"
    text = f"({text}) * g" if kind == "T" else text
    return f"EACH{len(_arrays(p))}{'_LONG' if two else ''}({_Vectors(text, names).show(parsed(text))})"


def _constant(name: str) -> str:
    return name.replace(" ", "_").upper()


def _macro(name: str, lines: list[str]) -> list[str]:
    return [f"#define {name} \\", *[f"    {line} \\" for line in lines], ""]
