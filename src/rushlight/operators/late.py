"""Families that `import rushlight` leaves out, imported when one of their names is first asked for.

Early are the families that `operators/__init__.py` imports: what nearly every program computes with. `late_names.py` says
which names the others publish; tools/stubs.py writes it.
"""

from __future__ import annotations

from importlib import import_module

from ..base.late_table import LateTable
from ..core.public import NAMESPACES, LateMethod
from ..core.tensor import Tensor
from ..runtime.door import KERNELS
from .late_names import LATE


def load_all() -> None:
    """Import every late family."""
    for family in LATE:
        import_module(f"{__package__}.{family}")


for _family, _places in LATE.items():
    for _place, _names in _places.items():
        _table = KERNELS if _place == "kernels" else NAMESPACES.setdefault(_place, LateTable())
        _table.late.update(dict.fromkeys(_names.split(), f"{__package__}.{_family}"))
for _name in NAMESPACES["Tensor"].late:
    setattr(Tensor, _name, LateMethod(_name))
