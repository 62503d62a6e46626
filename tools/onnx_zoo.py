"""Every network of rushlight.vision that classifies pictures as ONNX, against onnxruntime.

    python tools/onnx_zoo.py [NAME...] [--write FILE.json]

A line each: nodes, parameters, the largest difference of the answers over the largest answer for batches of 2
and 5 (the size is free), seconds. Exit code 1 when one differs by more than 1e-5 or cannot be exported. With
--write the lines are also kept in a file, which later calls add to. Needs `pip install onnx onnxruntime`.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import compact
import numpy as np

import rushlight as rl
from rushlight.cli.training import zoo
from rushlight.vision import models

TOLERANCE = 1e-5
CLASSES = 1000


def names() -> list[str]:
    """The networks of `rushlight train`, and ResNets for pictures of 32 pixels."""
    return [*zoo.names(), *(n for n in models.list_models() if n.endswith("_cifar"))]


def network(name: str) -> tuple[Any, int]:
    """A network with weights under which every layer matters, and the size of its pictures."""
    rl.manual_seed(0)
    size = zoo.fitting_size(name, 32 if name == "lenet" or name.endswith("_cifar") else 64)
    more: dict[str, Any] = {}
    if name == "mlp":
        more["in_features"] = 3 * size * size
    elif name in ("googlenet", "inception_v3"):
        more["init_weights"] = False  # drawing theirs takes long
    elif zoo.patch(name) > 1:
        more["image_size"] = size
    net = models.get_model(name, num_classes=CLASSES, **more).eval()
    for p in net.parameters():
        if not p.any():  # heads that begin at zero would agree about anything
            p.data.normal_(0, 0.02)
    return net, size


def compare(name: str) -> dict[str, Any]:
    """Export a network and let onnxruntime answer the same pictures."""
    begin = time.perf_counter()
    net, size = network(name)
    program = rl.onnx.export(net, (rl.randn(2, 3, size, size),), input_names=["x"], dynamic_axes={"x": {0: "batch"}})
    session = program.session()
    worst = 0.0
    for batch in (2, 5):
        x = rl.randn(batch, 3, size, size)
        with rl.no_grad():
            ours = net(x).numpy()
        (theirs,) = session.run(None, {"x": x.numpy()})
        worst = max(worst, float(np.abs(ours - theirs).max() / np.abs(ours).max()))
    return {
        "size": size, "nodes": len(program.model_proto.graph.node),
        "parameters": sum(p.numel() for p in net.parameters()), "difference": worst,
        "seconds": round(time.perf_counter() - begin, 1),
    }  # fmt: skip


def keep(path: Path, name: str, found: dict[str, Any]) -> None:
    """Add a line to the record, with the versions it was made with."""
    import onnx
    import onnxruntime

    record = json.loads(path.read_text()) if path.exists() else {"networks": {}}
    record["what"] = "largest difference over largest answer, batches of 2 and 5; tools/onnx_zoo.py"
    record["versions"] = {"onnx": onnx.__version__, "onnxruntime": onnxruntime.__version__, "rushlight": rl.__version__}
    kept = {k: v for k, v in found.items() if k != "seconds"}  # of a machine that may be busy
    record["networks"] = dict(sorted({**record["networks"], name: kept}.items()))
    compact.write(path, record)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--write", type=Path, metavar="FILE.json")
    args = parser.parse_args()
    wrong = []
    for name in args.names or names():
        try:
            found = compare(name)
        except (RuntimeError, ValueError, TypeError) as error:
            print(f"{name:20} FAILED: {' '.join(str(error).split())[:300]}", flush=True)
            wrong.append(name)
            continue
        if not found["difference"] <= TOLERANCE:
            wrong.append(name)
        print(f"{name:20} {found['nodes']:5} nodes {found['parameters']:12,} parameters  "
              f"{found['difference']:.1e}  {found['seconds']:6.1f} s", flush=True)  # fmt: skip
        if args.write:
            keep(args.write, name, found)
    print(f"{len(wrong)} wrong{': ' if wrong else ''}{', '.join(wrong)}")
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
