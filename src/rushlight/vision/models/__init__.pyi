"""Made by tools/stubs.py; edit the functions or that file, and run it."""

# ruff: noqa
import builtins as _b
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from . import convnext as convnext
from . import densenet as densenet
from . import detection as detection
from . import efficientnet as efficientnet
from . import inception as inception
from . import mnasnet as mnasnet
from . import mobilenetv2 as mobilenetv2
from . import mobilenetv3 as mobilenetv3
from . import regnet as regnet
from . import resnet as resnet
from . import segmentation as segmentation
from . import shufflenetv2 as shufflenetv2
from . import small as small
from . import squeezenet as squeezenet
from . import swin_transformer as swin_transformer
from . import vgg as vgg
from . import vision_transformer as vision_transformer
from ._api import *
from .alexnet import *
from .convnext import *
from .densenet import *
from .efficientnet import *
from .googlenet import *
from .inception import *
from .mnasnet import *
from .mobilenetv2 import *
from .mobilenetv3 import *
from .regnet import *
from .resnet import *
from .shufflenetv2 import *
from .small import *
from .squeezenet import *
from .swin_transformer import *
from .vgg import *
from .vision_transformer import *
import types as _types
mobilenet: _types.ModuleType
