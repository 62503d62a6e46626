"""`rushlight launch`: many ranks of one script through mpiexec, watched, with torchrun's options."""

from .job import launch, run_job
from .options import checked, parser

__all__ = ["checked", "launch", "parser", "run_job"]
