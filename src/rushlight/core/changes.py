"""How often modules and hooks were changed: compiled programs look at this number before anything else."""

from __future__ import annotations

# Attributes of modules set or deleted, members registered, hooks added or removed, one after another.
changes = [0]
