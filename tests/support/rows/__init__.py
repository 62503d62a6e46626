"""Rows of the op table, one file per family of ops."""
