"""Which of the names that PyTorch's libraries reach for rushlight has, under the alias `torch`.

Each row of library-names.csv is a point where names of libraries stopped to resolve: how many libraries use it,
how often, and how many names lie below. A name counts when it resolves to something that does not merely refuse.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import warnings
from pathlib import Path
from typing import Any

import rushlight

LIST = Path(__file__).resolve().parent / "library-names.csv"


def there(name: str) -> bool:
    """Whether a dotted name leads somewhere, through attributes and imports."""
    head, *rest = name.split(".")
    known, owner = head, importlib.import_module(head)
    for part in rest:
        known = f"{known}.{part}"
        try:
            owner = getattr(owner, part)
        except (AttributeError, ImportError, NotImplementedError):
            try:
                owner = importlib.import_module(known)
            except ImportError:
                return False
    return not refuses(owner)


def refuses(value: Any) -> bool:
    """Whether something is only there to say that it is not."""
    return getattr(value, "not_yet", False) is True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("list", nargs="?", type=Path, default=LIST, help="a csv like library-names.csv")
    rows = list(csv.DictReader(parser.parse_args().list.open()))
    rushlight.as_torch()
    warnings.simplefilter("ignore")
    missing = [row for row in rows if not there(row["first_missing"])]
    for row in missing:
        print(f"{row['first_missing']:60} {row['uses']:>4} uses  {row['which']}")
    print(f"{len(rows) - len(missing)} of {len(rows)} resolve")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
