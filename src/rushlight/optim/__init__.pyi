"""Made by tools/stubs.py; edit the functions or that file, and run it."""

# ruff: noqa
import builtins as _b
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from . import adafactor as adafactor
from . import calls as calls
from . import checks as checks
from . import cycles as cycles
from . import lbfgs as lbfgs
from . import lr_scheduler as lr_scheduler
from . import muon as muon
from . import optimizer as optimizer
from . import rules as rules
from . import rules_older as rules_older
from . import schedule_base as schedule_base
from . import sparse_adam as sparse_adam
from . import stepping as stepping
from . import swa_utils as swa_utils
from .adafactor import Adafactor as Adafactor
from .lbfgs import LBFGS as LBFGS
from .muon import Muon as Muon
from .optimizer import Optimizer as Optimizer
from .rules import Adam as Adam
from .rules import AdamW as AdamW
from .rules import Adamax as Adamax
from .rules import NAdam as NAdam
from .rules import RAdam as RAdam
from .rules import SGD as SGD
from .rules_older import ASGD as ASGD
from .rules_older import Adadelta as Adadelta
from .rules_older import Adagrad as Adagrad
from .rules_older import RMSprop as RMSprop
from .rules_older import Rprop as Rprop
from .sparse_adam import *
