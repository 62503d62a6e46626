"""The version of this package, written once; users read it as `rushlight.version`."""

__version__ = "0.1.0"
