"""`rushlight launch`: many ranks of one script through mpiexec, watched, with torchrun's options."""

from .api import LaunchConfig, elastic_launch
from .job import launch, run_job
from .options import checked, parser

__all__ = ["LaunchConfig", "checked", "elastic_launch", "launch", "parser", "run_job"]
