"""Every network of rushlight.vision as ONNX, against onnxruntime: a line each, exit code 1 when one differs.

python tools/onnx_zoo.py [NAME...]
"""

from __future__ import annotations

import sys
import time

import numpy as np

import rushlight as rl
from rushlight.vision import models

TOLERANCE = 1e-5


def difference(name: str) -> tuple[float, int]:
    """The largest difference over the largest answer, for batches of 2 and 5; and the nodes."""
    rl.manual_seed(0)
    size = 32 if name in ("lenet", "mlp") or "cifar" in name else 64
    size = 96 if name == "inception_v3" else 224 if name.startswith("vit") else size
    more: dict[str, object] = {"in_features": 3 * size * size} if name == "mlp" else {}
    if name in ("googlenet", "inception_v3"):
        more["init_weights"] = False  # theirs takes minutes
    net = models.get_model(name, **more).eval()
    for p in net.parameters():
        if not p.any():  # heads that begin at zero would agree about anything
            p.data.normal_(0, 0.02)
    program = rl.onnx.export(net, (rl.randn(2, 3, size, size),), input_names=["x"],
                             dynamic_axes={"x": {0: "batch"}})  # fmt: skip
    session = program.session()
    worst = 0.0
    for batch in (2, 5):
        x = rl.randn(batch, 3, size, size)
        with rl.no_grad():
            ours = net(x).numpy()
        (theirs,) = session.run(None, {"x": x.numpy()})
        worst = max(worst, float(np.abs(ours - theirs).max() / np.abs(ours).max()))
    return worst, len(program.model_proto.graph.node)


def main() -> int:
    wrong = 0
    for name in sys.argv[1:] or models.list_models():
        begin = time.perf_counter()
        found, nodes = difference(name)
        wrong += found > TOLERANCE
        print(
            f"{name:20} {nodes:5} nodes  {found:.1e}  {time.perf_counter() - begin:5.1f} s",
            flush=True,
        )
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
