"""requirements-ci.lock: the versions of requirements-ci.txt with the hashes of all their files.

    python tools/lock.py --index URL      # a package index (its "simple" pages); writes the file anew
    pip install --require-hashes --no-deps -r requirements-ci.lock

The hashes are those of every wheel and source archive of a version, so that one file serves all platforms and
versions of Python. PyTorch is left out: machines have it from a file of their own.
"""

from __future__ import annotations

import argparse
import html
import re
import sys
import tomllib
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSIONS, LOCK = ROOT / "requirements-ci.txt", ROOT / "requirements-ci.lock"
LEFT_OUT = {"torch"}


def plain(name: str) -> str:
    """A project's name as indexes write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def versions(text: str) -> dict[str, str]:
    """{name: version} of a file of exact versions; comments, hashes and markers are passed over."""
    found = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", text, re.M)
    return {plain(name): version for name, version in found if plain(name) not in LEFT_OUT}


def markers() -> dict[str, str]:
    """{name: marker} of the dependencies that only some machines have."""
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = whole["project"]
    listed = [*whole["build-system"]["requires"], *project["dependencies"], *(d for g in project["optional-dependencies"].values() for d in g)]  # fmt: skip
    split = [d.partition(";") for d in listed]
    return {plain(re.split(r"[\[=<>!~ ]", d)[0]): m.strip() for d, _, m in split if m}


def files(page: str, name: str, version: str) -> dict[str, str]:
    """{file name: sha256} of one version, from an index's page of a project."""
    found = {}
    for link in re.findall(r'href="([^"]+)"', page):
        address, _, digest = html.unescape(link).partition("#sha256=")
        file = address.rsplit("/", 1)[-1]
        parts = re.match(r"(.+?)-(\d[^-]*?)(?:-.+\.whl|\.tar\.gz|\.zip)$", file)
        if parts and plain(parts[1]) == name and parts[2] == version and len(digest) == 64:
            found[file] = digest
    return found


def locked(index: str, name: str, version: str) -> str:
    """The lines of one version."""
    with urllib.request.urlopen(f"{index.rstrip('/')}/{name}/", timeout=60) as answer:
        digests = sorted(set(files(answer.read().decode(), name, version).values()))
    if not digests:
        raise SystemExit(f"{name} {version}: the index has no file with a hash")
    marker = markers().get(name)
    first = f"{name}=={version}" + (f" ; {marker}" if marker else "")
    return " \\\n".join([first, *[f"    --hash=sha256:{d}" for d in digests]])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--index", required=True, help="the address of an index's simple pages")
    index = parser.parse_args().index
    wanted = sorted(versions(VERSIONS.read_text()).items())
    with ThreadPoolExecutor(8) as pool:
        lines = list(pool.map(lambda pair: locked(index, *pair), wanted))
    note = "# Written by tools/lock.py from requirements-ci.txt; see docs/trust.md."
    LOCK.write_text("\n".join([note, *lines]) + "\n")
    print(f"{len(lines)} versions, {sum(part.count('--hash') for part in lines)} hashes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
