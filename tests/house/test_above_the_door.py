"""Which functions above the door ask for a device, each with its reason: none of them to choose how something is computed.

What is computed where is decided below the door, by bodies of kernels, or asked of the device by `Op.is_whole` and
`Op.joins`, whose answers stand in `runtime/<device>/joins.py`.
"""

from __future__ import annotations

import ast
from pathlib import Path

import rushlight

ROOT = Path(rushlight.__file__).parent
_MEMORY = "whose memory it is: pinned, shared, exported, written by the host"
_GIVEN = "a NumPy array that the user gave"
_NUMBERS = "PyTorch gives other numbers on the CPU than on a GPU, from the same call"
_NAMED = "PyTorch's answer to the same question, or a text that names the device"
_LOOKS = "a look at values, which on a GPU would wait for it"

# "file" allows a whole file, "file: function" one function.
ALLOWED = {
    "operators/create/from_data.py": _GIVEN,
    "operators/create/legacy.py": _NAMED,
    "operators/foreach.py: limit": "whether a device takes lists; others are quicker one by one",
    "operators/foreach.py: _rounded_beside": _NUMBERS,
    "operators/index/brackets.py: _to_tensor": _GIVEN,
    "operators/index/gather.py: check_bounds": _LOOKS,
    "operators/index/indexing.py: put": _MEMORY,
    "operators/layers/conv.py: _check_types": _NAMED,
    "operators/layers/recurrent.py: _stack_backward": "whether the device may write over what forward left",
    "operators/layers/recurrent.py: own_layers": "the device is asked how its library runs a stack of layers",
    "operators/loss/ctc.py: _stay": _LOOKS,
    "operators/made_of/pointwise.py: operand": _GIVEN,
    "operators/made_of/promotion.py: _with_wide_number": "a 0-d tensor of the host beside one of a GPU",
    "operators/made_of/promotion.py: promote_sum": _NUMBERS,
    "operators/matrix/linalg_factor.py: geqrf": _NAMED,
    "operators/matrix/linalg_rules.py: in_numpy": "the words of an error",
    "operators/matrix/linalg_spectrum.py: lstsq": "which of PyTorch's drivers a device has",
    "operators/matrix/linalg_spectrum.py: _check_svd": "which of PyTorch's drivers a device has",
    "operators/matrix/sparse.py": _NAMED,
    "operators/matrix/sparse_kernels.py: add_sparse": _NUMBERS,
    "operators/memory/casting.py: _moved": "whether something has to be moved",
    "operators/memory/copies.py: _host_only": _NAMED,
    "operators/memory/copies.py: copy_": "whether something has to be moved",
    "operators/memory/interop.py": _MEMORY,
    "operators/memory/sharing.py": _MEMORY,
    "operators/memory/storage.py": _MEMORY,
    "operators/random/draws.py: _refuse_negative": _LOOKS,
    "operators/random/generator.py": "whose generator it is",
    "operators/random/sampling.py: _stands_alone": "whose memory may be drawn into",
    "nn/modules/_parameter_containers.py: _line": _NAMED,
    "nn/modules/transformer.py: _dropped": _NUMBERS,
    "nn/parallel/fsdp.py: _device_type": "where a model is that is to be divided",
    "nn/parallel/fully_shard.py: _to_the_mesh": "where a model is that is to be divided",
    "nn/parallel/reducer.py: _same_memory": _MEMORY,
    "nn/parallel/shard_places.py: hide": _MEMORY,
    "nn/parallel/shards.py: _address": _MEMORY,
    "nn/parallel/shards.py: _view_of": _MEMORY,
    "nn/utils/rnn.py": _NAMED,
    "optim/optimizer.py": _NAMED,
    "optim/optimizer.py: _device_has_foreach_support": _NAMED,
    "optim/stepping.py: _check_fused": _NAMED,
}


def _asks(node: ast.AST) -> bool:
    """Whether this piece of a program asks which device something is on."""
    if isinstance(node, ast.Attribute):
        owner = getattr(node.value, "attr", getattr(node.value, "id", None))
        of_device = node.attr == "type" and owner in ("d", "device", "place", "where")
        return of_device or node.attr in ("is_cpu", "is_cuda")
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
        return "ndarray" in ast.unparse(node.args[1])
    if isinstance(node, ast.Compare):
        return any(ast.unparse(c).endswith("ndarray") for c in node.comparators)
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith("overrides")


def _questions(node: ast.AST, function: str = "") -> set[str]:
    """The functions of a file that ask; bodies of kernels, whose first argument is `xp`, are below the door."""
    found = set()
    for child in ast.iter_child_nodes(node):
        name = function
        if isinstance(child, ast.FunctionDef):
            if child.args.args and child.args.args[0].arg == "xp":
                continue
            name = child.name
        if _asks(child):
            found.add(name)
        found |= _questions(child, name)
    return found


def _places() -> set[str]:
    return {
        f"{path.relative_to(ROOT).as_posix()}: {function}"
        for folder in ("operators", "nn", "optim")
        for path in (ROOT / folder).rglob("*.py")
        for function in _questions(ast.parse(path.read_text()))
    }


def test_nothing_above_the_door_chooses_by_device():
    asked = {p for p in _places() if p not in ALLOWED and p.partition(":")[0] not in ALLOWED}
    assert not asked, "asks for a device; move it below the door, or say why not"


def test_every_reason_is_still_needed():
    places = _places()
    known = places | {p.partition(":")[0] for p in places}
    assert not set(ALLOWED) - known
