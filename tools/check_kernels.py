"""Compile every CUDA source of rushlight with nvcc, without a GPU: `python tools/check_kernels.py`."""

from __future__ import annotations

import argparse
import importlib
import itertools
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "src" / "rushlight" / "runtime" / "cuda"

sys.path.insert(0, str(ROOT / "src"))


FILES = {path.stem: path.read_text() for path in sorted((FOLDER / "kernels").glob("*.cu"))}
READ = {"reduce"}  # of these, the ones that a function below has made sources of; the body of reductions knows its file


def text_of(name: str) -> str:
    """A file of kernels, which is then compiled."""
    READ.add(name)
    return FILES[name]


def load(name: str) -> Any:
    """A module of runtime/cuda that needs no CuPy."""
    return importlib.import_module(f"rushlight.runtime.cuda.{name}")


def pointwise_expressions() -> Iterator[tuple[str, Any]]:
    """What the records of pointwise ops say in CUDA: all texts, with and without operands that may be None."""
    printed = load("code.expressions").printed
    for name, kernel in importlib.import_module("rushlight.runtime.door").KERNELS.items():
        point = kernel.facts.point
        if point is None or not point.texts:
            continue
        if point.is_chosen:
            for choice in point.texts["f"]:
                yield f"{name}:{choice}", printed(point, (), {point.attrs[0]: choice})
            continue
        yield name, printed(point)
        for left_out in point.optional:
            yield f"{name}:no {left_out}", printed(point, (), {left_out: None})


def pointwise_sources(few: bool) -> dict[str, str]:
    """One function per op and dtype, all in few files: the loop around them is the same."""
    codegen = load("code.generate")
    sources = {}
    for label, e in pointwise_expressions():
        for d, (_, kind, _) in codegen.TYPES.items():
            if kind not in e.text or (few and d not in ("float32", "int32", "bool", "complex64")):
                continue
            dtypes = tuple(["bool" if i in ("condition", "mask") else d for i in e.inputs])
            out = codegen.stored(e, d)
            if out is None:
                continue
            arrays = ("a",) * len(dtypes)
            text = codegen.flat_source(e, dtypes, arrays, out, 4, "unsigned")
            sources[f"{label}-{d}"] = text
            if d in ("float32", "complex64", "int64"):
                last = [*arrays[:-1], "n"] if len(arrays) > 1 else list(arrays)
                mixed = tuple(last)
                sources[f"{label}-{d}-number"] = codegen.flat_source(e, dtypes, mixed, out, 2, "i64")
                sources[f"{label}-{d}-strided"] = codegen.strided_source(e, dtypes, arrays, out, 3, "unsigned")
    return sources


def reduction_sources(few: bool) -> dict[str, str]:
    """Every reduction over every dtype it takes."""
    codegen, reductions = load("code.generate"), load("bodies.reduce_sources")
    kinds = "sum mean prod nansum count_nonzero norm1 norm2 norminf any all max min argmax argmin"
    sources = {}
    for kind in kinds.split():
        for d, (_, group, _) in codegen.TYPES.items():
            if not reductions.supports(kind, d) or (few and d not in ("float16", "int32")):
                continue
            out = "bool" if kind in ("any", "all") else d
            if kind == "count_nonzero" or (kind in ("sum", "prod") and group in "iub"):
                out = "int64"
            text = reductions.reduction_source(kind, d, out, "int", 2, 2 if kind == "sum" else 1)
            sources[f"{kind}-{d}"] = text
    return sources


ATOMIC = {"float32": "float", "float64": "double", "int32": "int", "uint32": "unsigned",
          "int64": "u64", "uint64": "u64"}  # fmt: skip


def file_sources(few: bool) -> dict[str, str]:
    """The sources that are files with a few lines in front, per dtype."""
    codegen = load("code.generate")
    sources = {"moves": text_of("moves")}
    draws, places = text_of("random"), text_of("indexing")
    for d, (c, kind, _) in codegen.TYPES.items():
        if few and d not in ("float32", "bfloat16", "int64"):
            continue
        head = f"{codegen.PRELUDE}\ntypedef {c} S;\n"
        if kind != "c":
            flag = "#define FLOATING 1\n" if kind == "f" else ""
            sources[f"random-{d}"] = draws.replace("// PRELUDE", flag + head)
        if kind == "f":
            sources[f"dropout-{d}"] = sources[f"random-{d}"] + text_of("dropout")
            if d != "float64":
                sources[f"attention-{d}"] = sources[f"random-{d}"] + text_of("attention")
            if d == "float32":
                sources |= flash_sources(sources[f"random-{d}"], few)
            sources[f"scaling-{d}"] = head + text_of("scaling")
        if kind != "c":
            order = text_of("sorting")
            for name in (
                n
                for n, text in FILES.items()
                if "typedef Wide<S>::type T;" in text and n not in ("sorting", "indexing", "random")
            ):
                rows = "#define ROWS 3\n" if d in ("float32", "float64") else ""  # small matrices
                sources[f"{name}-{d}"] = head + rows + text_of(name)
            for forms in ("", "#define FROM_ITEMS 1\n#define TO_ITEMS 1\n#define COUNT u64\n", "#define NTH 2\n"):
                sources[f"sorting-{d}-{len(forms)}"] = f"{head}{forms}{order}"
        own = places.replace("kind == 2 ? top(a, b) : bottom(a, b)", "a") if kind == "c" else places
        atomic = f"#define ATOMIC {ATOMIC[d]}\n" if d in ATOMIC else ""
        sources[f"indexing-{d}"] = f"{head}typedef i64 X;\n#define N 3\n{atomic}{own}"
    return sources


def flash_sources(draws: str, few: bool) -> dict[str, str]:
    """Attention's own kernels for float32: with and without tensor cores, dropout and a bias."""
    common, sources = text_of("flash"), {}
    forms = [(32, 2, 1), (128, 1, 0)] if few else [(w, t, a) for w, t in ((32, 2), (64, 2), (128, 1)) for a in range(t)]
    for name in ("flash_forward", "flash_queries", "flash_keys"):
        for (wide, tiles, everything), tf32 in itertools.product(forms, (0, 1)):
            constants = {
                "WIDTH": wide, "VALUES": wide, "TILES": tiles, "WARPS": 4, "STEP": 32, "BLOCKS": 1, "TF32": tf32,
                "DROP": tf32, "BIAS": 1 - tf32, "ALL": everything,
            }  # fmt: skip
            lines = "".join(f"#define {k} {v}\n" for k, v in constants.items())
            label = f"{name}-{wide}-{tf32}-{everything}"
            sources[label] = lines + draws + common + text_of(name)
    return sources


# Constants of files that need some; the others have defaults, or none.
FAMILIES = {
    "batch_norm": [
        {"NW": "float", "LAST": 1, "VW": 2, "ACROSS": 8, "IX": "unsigned"},
        {"NW": "float", "LAST": 0, "VW": 1, "ACROSS": 1, "IX": "i64"},
        {"NW": "NT", "LAST": 1, "VW": 1, "ACROSS": 32, "IX": "i64"},
    ],
    "pool": [{}, {"LAST": 1, "VW": 1}, {"LAST": 1, "VW": 2}],
    "head": [
        {"CLASSES": 10, "TEAM": 256, "TEAMS": 1, "ROWS": 1, "LABEL": "i64"},
        {"CLASSES": 16, "TEAM": 32, "TEAMS": 8, "ROWS": 4, "LABEL": "u8"},
        {"CLASSES": 3, "TEAM": 64, "TEAMS": 8, "ROWS": 1, "LABEL": "i64"},
    ],
    "index_rows": [
        {"UNIT": "bytes_16", "LANES": 32, "FOUR": 1, "X": "i64"},
        {"UNIT": "u8", "LANES": 1, "FOUR": 0, "X": "int"},
    ],
    "scan": [
        {"STORED": "half_t", "WIDE": "double", "RESULT": "half_t", "PRODUCT": 0},
        {"STORED": "u8", "WIDE": "i64", "RESULT": "i64", "PRODUCT": 1},
    ],
    "matrices": [{"GROUP": (8, 32, 256, 1024)[task % 4], "TASK": task} for task in range(7)],
    "selection": [{"UNIT": "bytes_16", "DIMS": 3}, {"UNIT": "u8", "DIMS": 1}],
    "patterns": [{"UNIT": "int", "LABEL": "i64", "WEIGHTED": 1}, {"UNIT": "u8", "LABEL": "u8", "WEIGHTED": 0}],
    "layer_norm": [
        {"NW": "NT", "RMS": 0, "TEAM": 1, "VW": 2, "HELD": 3, "FULL": 1},
        {"NW": "float", "RMS": 1, "TEAM": 0, "VW": 1, "HELD": 0, "FULL": 0},
        {"NW": "float", "RMS": 0, "TEAM": 0, "VW": 2, "HELD": 2, "FULL": 0, "NO": "NT", "NY": "NT"},
    ],
    "grid_sample": [
        {"MODE": 0, "PADDING": 0, "DIMS": 3, "ALIGN": 0},
        {"MODE": 1, "PADDING": 1, "DIMS": 2, "ALIGN": 1},
        {"MODE": 2, "PADDING": 2, "DIMS": 2, "ALIGN": 0},
    ],
    "depthwise": [{}, {"LINES": 2, "ROW": 1, "FLIP": 1}],
    "group_norm": [{"NW": "NT", "VW": 2}, {"NW": "float", "VW": 1}],
    "cross_entropy": [{"LABEL": "i64", "WIDE": 0}, {"LABEL": "i64", "WIDE": 1}],
    "ctc": [{"PER": 1}, {"PER": 4}],
    "resample": [{"IX": "int", "VW": 2, "UNIT": "bytes_16"}, {"IX": "i64", "VW": 1, "UNIT": "u8"}],
    "softmax": [{"KIND": kind} for kind in (0, 1, 2)],
    "rows": [{"UNIT": "bytes_16"}, {"UNIT": "u8"}],
    "embedding": [{"LABEL": "i64", "VW": 2}],
    "embedding_add": [{"LABEL": "i64"}],
    "casts": [{"SRC": source, "MAXT": 64} for source in ("float", "bf16_t")],
    "foreach": [{"MAXT": 16, "ORDER": order} for order in (0, 1, 2)],
}
STORED = {"float": "float", "double": "double", "half_t": "float", "bf16_t": "float"}


def family_sources(few: bool) -> dict[str, str]:
    """All other files: over common.cu with a few constants, per type that numbers are stored in."""
    common, sources = FILES["common"], {}
    for name in [name for name in FILES if name not in READ or name in FAMILIES]:
        for number, form in enumerate(FAMILIES.get(name, [{}])):
            for stored, computed in list(STORED.items())[: 1 if few else None]:
                constants = {"NT": stored, "NA": computed, **form}
                lines = [f"#define {k} {v}" for k, v in constants.items()]
                sources[f"{name}-{stored}-{number}"] = "\n".join([*lines, common, FILES[name]])
    return sources


# Of every optimiser's rule, one form with all it can have: arrays (parameter, gradient, states), flags.
RULES = {
    "sgd_update": (3, "NESTEROV MAXIMIZE"), "velocity_update": (3, ""), "adam_update": (5, "DECOUPLED MAXIMIZE"),
    "adamax_update": (4, "MAXIMIZE"), "nadam_update": (4, "DECOUPLED MAXIMIZE"),
    "radam_update": (4, "DECOUPLED MAXIMIZE"), "rmsprop_update": (5, "CENTERED MOMENTUM MAXIMIZE"),
    "adagrad_update": (3, "MAXIMIZE"), "adadelta_update": (4, "MAXIMIZE"), "rprop_update": (4, "MAXIMIZE"),
    "asgd_update": (3, "MAXIMIZE"), "muon_momentum_update": (3, "NESTEROV"), "muon_update": (2, ""),
}  # fmt: skip
FLAGS = "NESTEROV MAXIMIZE DECOUPLED CENTERED MOMENTUM FIRST"


def update_sources(few: bool) -> dict[str, str]:
    """Every optimiser's rule, per type that numbers are stored in."""
    rules = load("bodies.update_sources")
    common, text = text_of("common"), text_of("update")
    sources = {}
    for name in rules.RULES:
        arrays, flags = RULES[name]
        for stored, computed in list(STORED.items())[: 1 if few else None]:
            constants = {"NT": stored, "NA": computed, "ARRAYS": arrays, "MAXT": 64}
            constants |= {flag: int(flag in flags.split()) for flag in FLAGS.split()}
            lines = [f"#define {k} {v}" for k, v in constants.items()]
            sources[f"{name}-{stored}"] = "\n".join([*lines, common, rules.with_rule(name, text)])
    return sources


MACROS = ("INIT", "MAP", "JOIN", "FINAL", "KEPT", "GONE", "PAIR")


def conv_sources(few: bool) -> dict[str, str]:
    """The small convolutions of the lab's network, cut for few images and for many."""
    shapes, tiling = load("small.conv_sizes"), load("small.conv_tiling")
    none = (0, 0)
    layers = {
        "conv1": shapes.forward_shape((1, 3, 32, 32), (6, 3, 5, 5), (28, 28), (1, 1), none),
        "conv2": shapes.forward_shape((1, 6, 14, 14), (16, 6, 5, 5), (10, 10), (1, 1), none),
    }
    back = shapes.input_shape((1, 6, 14, 14), (16, 6, 5, 5), (1, 16, 10, 10), (1, 1), none)
    pool = {"KH": 2, "KW": 2, "POOL": 0, "RELU": 0, "FROM": 2}
    made: dict[str, tuple[str, dict[str, int]]] = {}
    for images in (4, 4096):
        for name, one in layers.items():
            s = one._replace(images=images)
            cut = tiling.best_cut(tiling.Job(s, (2, 2)))
            joined = {**s.constants(), **cut.constants(), **pool, "POOL": 1, "RELU": 1, "FROM": 1}
            made[f"{name}-pool-{images}"] = ("conv_small", joined)
            for kind, tile in (("weight", tiling.weight_tile(s)), ("taps", tiling.taps_tile(s, (2, 2)))):
                tile = {k: v for k, v in tile.items() if k.isupper()}
                made[f"{name}-{kind}-{images}"] = (f"conv_small_{kind}", {**s.constants(), **tile, **pool})
        s = back._replace(images=images)
        cut = tiling.best_cut(tiling.Job(s, source=2))
        made[f"conv2-input-{images}"] = ("conv_small", {**s.constants(), **cut.constants(), **pool})
    sources = {}
    for stored in ("float",) if few else ("float", "bf16_t"):
        for label, (file, constants) in made.items():
            lines = [f"#define {k} {v}" for k, v in constants.items()]
            lines += [f"#define NT {stored}", "#define ASYNC" if stored == "float" else ""]
            parts = [lines[-2], text_of("common"), *lines, text_of(file)]
            sources[f"{label}-{stored}"] = "\n".join(parts)
    return sources


def bundle(sources: dict[str, str], prelude: str) -> str:
    """Many kernels as one file: the prelude once, each kernel in a namespace of its own."""
    parts = ["#undef LINKAGE", "#define LINKAGE(name)", prelude]
    forget = "\n".join(f"#undef {name}" for name in MACROS)
    for number, (label, text) in enumerate(sources.items()):
        own = text.replace(prelude, "").replace('extern "C" ', "")
        parts.append(f"// {label}\n{forget}\nnamespace n{number} {{\n{own}\n}}")
    return "\n".join(parts)


def compile_text(label: str, text: str) -> bool:
    with tempfile.NamedTemporaryFile("w", suffix=".cu") as file:
        file.write((FOLDER / "kernels" / "kernel.cuh").read_text() + text)
        file.flush()
        command = ["nvcc", "-std=c++17", "-arch=sm_90", "-cubin", "-o", "/dev/null", file.name]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"{label}: does not compile\n{done.stdout}{done.stderr}"[:6000])
    return done.returncode == 0


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--few", action="store_true", help="one dtype of each kind only")
    parser.add_argument("--only", default="", help="sources whose label contains this")
    options = parser.parse_args(argv)
    families = (pointwise_sources, reduction_sources)
    sources = {k: v for f in families for k, v in f(options.few).items() if options.only in k}
    prelude = load("code.generate").PRELUDE
    good = True
    labels = list(sources)
    for start in range(0, len(labels), 150):
        part = {k: sources[k] for k in labels[start : start + 150]}
        good &= compile_text(f"kernels {start} and on", bundle(part, prelude))
    whole = {
        **file_sources(options.few),
        **update_sources(options.few),
        **conv_sources(options.few),
        **family_sources(options.few),  # the last: what nobody else has read
    }
    files = {k: v for k, v in whole.items() if options.only in k}
    if not sources and not files:
        print(
            f"no source has {options.only!r} in its label; labels begin with: {', '.join(sorted({k.partition('-')[0] for k in whole}))}"
        )
        return 1
    for label, text in files.items():
        good &= compile_text(label, text)
    print(f"{len(sources) + len(files)} sources: {'ok' if good else 'FAILED'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
