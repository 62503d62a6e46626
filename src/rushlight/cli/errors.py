"""The error of the command line: something the user can mend, in one sentence."""

# Of one line on a screen; a file can put any length of text into a message.
LONGEST = 600


class UsageError(Exception):
    """Printed on stderr without a traceback; the exit code is 2."""

    def sentence(self) -> str:
        """The message alone, also of an error that comes from a worker with its traceback."""
        text = str(self)
        if text.startswith("Caught ") and "UsageError: " in text:
            text = text.partition("UsageError: ")[2]
        text = printable(text.strip().partition("\n")[0])
        return text if len(text) <= LONGEST else text[:LONGEST] + " ..."


def short(text: str, most: int = 40) -> str:
    """`printable`, cut to a length that leaves room in a table."""
    text = printable(text)
    return text if len(text) <= most else text[: most - 3] + "..."


def printable(text: str) -> str:
    """Text of a file as a terminal may show it: no control characters, which could rewrite the screen."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
