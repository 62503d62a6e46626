"""The error of the command line: something the user can mend, in one sentence."""


class UsageError(Exception):
    """Printed on stderr without a traceback; the exit code is 2."""

    def sentence(self) -> str:
        """The message alone, also of an error that comes from a worker with its traceback."""
        text = str(self)
        if text.startswith("Caught ") and "UsageError: " in text:
            text = text.partition("UsageError: ")[2]
        return text.strip().partition("\n")[0]
