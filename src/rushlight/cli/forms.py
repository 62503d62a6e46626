"""A form as it comes in over HTTP, read piece by piece: its first file, within limits that no body can stretch."""

from __future__ import annotations

import re

PARTS = 100  # of a form
HEADERS = 8192  # bytes of the headers of one part
BOUNDARY = 70  # characters, by RFC 2046


class BadForm(ValueError):
    """What was sent is no form, or one that nobody fills in; the message is for whoever sent it."""


def boundary_of(kind: str) -> bytes:
    """The line between the parts, out of a Content-Type."""
    found = re.search(r"""boundary=(?:"([^"]{1,200})"|([^\s;,"]{1,200}))""", kind[:1000], re.I)
    name = (found[1] or found[2]) if found else ""
    if not name or len(name) > BOUNDARY or not name.isascii():
        raise BadForm("a form needs a boundary of at most 70 characters")
    return b"\r\n--" + name.encode()


class Form:
    """The content of a form's first file, or of its first part that has some where no part has a file's name.

    `feed` takes the body as it comes. Each byte is looked at once; of parts that are not wanted nothing is kept.
    """

    def __init__(self, kind: str) -> None:
        self.line = boundary_of(kind)
        self.rest = bytearray(b"\r\n")  # the first boundary has no line before it
        self.parts = 0
        self.inside = ""  # "" before the first part, then "head", "file", "field", "end"
        self.file: bytearray | None = None
        self.field = bytearray()
        self.field_is_done = False
        self.skip = 0  # bytes in front of a part's content

    def feed(self, some: bytes) -> None:
        """Go on with more of the body."""
        self.rest += some
        while self.inside != "end" and self._step():
            pass
        if self.inside == "end":
            self.rest.clear()

    def _step(self) -> bool:
        """One part's head, or its content up to the next boundary; False where more has to come."""
        if self.inside == "head":
            return self._head()
        at = self.rest.find(self.line)
        if at < 0 or len(self.rest) < at + len(self.line) + 2:
            whole = at if at >= 0 else len(self.rest) - len(self.line) - 2
            if whole > 0:
                self._keep(self.rest[:whole])
                del self.rest[:whole]
            return False
        self._keep(self.rest[:at])
        if self.inside == "field" and self.field:
            self.field_is_done = True
        end = self.rest[at + len(self.line) : at + len(self.line) + 2]
        del self.rest[: at + len(self.line)]
        if self.inside == "file" or end == b"--":
            self.inside = "end"  # what comes behind the first file is not looked at
            return True
        self.parts += 1
        if self.parts > PARTS:
            raise BadForm(f"a form of more than {PARTS} parts")
        self.inside = "head"
        return True

    def _head(self) -> bool:
        at = self.rest.find(b"\r\n\r\n", 0, HEADERS + 4)
        if at < 0:
            if len(self.rest) > HEADERS:
                raise BadForm(f"more than {HEADERS} bytes of headers in a part of a form")
            return False
        head = bytes(self.rest[:at]).lower()
        del self.rest[: at + 2]  # the empty line's end may begin the next boundary
        is_file = re.search(rb'\r\ncontent-disposition:[^\r\n]*;\s*filename\*?=(?!"")', head)
        self.inside = "file" if is_file else "field"
        if is_file:
            self.file = bytearray()
        self.skip = 2
        return True

    def _keep(self, some: bytes | bytearray) -> None:
        """Content of the part; the line's end that its head left in front of it is not content."""
        if self.inside in ("file", "field"):
            some, self.skip = some[self.skip :], max(self.skip - len(some), 0)
            if self.inside == "file" and self.file is not None:
                self.file += some
            elif not self.field_is_done:
                self.field += some

    def content(self) -> bytes:
        """What was found."""
        return bytes(self.field if not self.file else self.file)
