"""Names of modules that change: each is listed in docs/globals.md with its reason; memos, which have bounds, are not."""

from __future__ import annotations

import re
from pathlib import Path

from imports import modules
from module_state import Module, memos, mutable_globals

PAGE = Path(__file__).resolve().parents[2] / "docs" / "globals.md"
ROW = re.compile(r"^\| `([\w.]+)` \| (.+) \|$", re.M)


def test_every_mutable_global_is_listed_with_its_reason():
    listed = dict(ROW.findall(PAGE.read_text()))
    found = {name.removeprefix("rushlight.") for name in mutable_globals(modules())}
    assert found - set(listed) == set(), "say in docs/globals.md why these have to change"
    assert set(listed) - found == set(), "these are gone: take them out of docs/globals.md"


def test_listed_once():
    names = [name for name, _ in ROW.findall(PAGE.read_text())]
    assert len(names) == len(set(names))


def test_the_finder_sees_them(tmp_path: Path):
    (tmp_path / "shop.py").write_text(
        "import threading\nfrom collections import deque\nfrom functools import cache, lru_cache\n"
        "from .other import table, Thing\n"
        "TYPES = {'a': 1}\nprices: dict = {}\nqueue = deque(maxlen=3)\nlater = deque()\nturn = 0\n"
        "local = threading.local()\nstock = [1]\n"
        "def sell(name, own):\n"
        "    global turn\n    turn += 1\n    table[name] = 1\n    stock.append(name)\n"
        "    own.append(1)\n    Thing.count = 2\n    kept = {}\n    kept[name] = own\n"
        "@cache\ndef tax(x):\n    return TYPES[x]\n"
        "@cache\ndef once():\n    return 1\n"
        "@lru_cache(8)\ndef few(x):\n    return x\n"
        "@lru_cache(None)\ndef many(x):\n    return x\n"
        "sums = Bounded(64)\ndef add(x):\n    sums[x] = x\n"
    )
    (tmp_path / "other.py").write_text("table = {'x': 2}\nclass Thing:\n    count = 1\n")
    known = {"pkg.shop": tmp_path / "shop.py", "pkg.other": tmp_path / "other.py"}
    found = {name.removeprefix("pkg.") for name in mutable_globals(known)}
    assert found == {
        "other.table", "shop.later", "shop.local", "shop.many", "shop.prices", "shop.queue", "shop.stock", "shop.tax",
        "shop.turn",
    }  # fmt: skip
    assert memos(Module(name, path) for name, path in known.items()) == {
        "pkg.shop.few",
        "pkg.shop.once",
        "pkg.shop.sums",
    }
