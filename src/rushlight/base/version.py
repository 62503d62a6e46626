"""The version of this package, said once; `rushlight.version` is what users ask."""

__version__ = "0.1.0"
