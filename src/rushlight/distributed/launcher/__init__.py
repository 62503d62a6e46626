"""`rushlight launch`: many ranks of one script through mpiexec, watched, with torchrun's options."""

from .job import launch

__all__ = ["launch"]
