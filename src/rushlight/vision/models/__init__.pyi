"""Made by tools/stubs.py; edit the functions or that file, and run it."""

# ruff: noqa
import builtins as _b
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from . import mobilenet as mobilenet
from . import mobilenetv2 as mobilenetv2
from . import resnet as resnet
from . import small as small
from . import squeezenet as squeezenet
from . import vgg as vgg
from ._api import Weights as Weights
from ._api import WeightsEnum as WeightsEnum
from ._api import get_model as get_model
from ._api import get_model_builder as get_model_builder
from ._api import get_model_weights as get_model_weights
from ._api import get_weight as get_weight
from ._api import list_models as list_models
from .alexnet import AlexNet as AlexNet
from .alexnet import AlexNet_Weights as AlexNet_Weights
from .alexnet import alexnet as alexnet
from .mobilenetv2 import MobileNetV2 as MobileNetV2
from .mobilenetv2 import MobileNet_V2_Weights as MobileNet_V2_Weights
from .mobilenetv2 import mobilenet_v2 as mobilenet_v2
from .resnet import ResNet as ResNet
from .resnet import ResNet101_Weights as ResNet101_Weights
from .resnet import ResNet152_Weights as ResNet152_Weights
from .resnet import ResNet18_Weights as ResNet18_Weights
from .resnet import ResNet34_Weights as ResNet34_Weights
from .resnet import ResNet50_Weights as ResNet50_Weights
from .resnet import resnet101 as resnet101
from .resnet import resnet152 as resnet152
from .resnet import resnet18 as resnet18
from .resnet import resnet18_cifar as resnet18_cifar
from .resnet import resnet34 as resnet34
from .resnet import resnet34_cifar as resnet34_cifar
from .resnet import resnet50 as resnet50
from .resnet import resnet50_cifar as resnet50_cifar
from .resnet import resnext101_32x8d as resnext101_32x8d
from .resnet import resnext50_32x4d as resnext50_32x4d
from .resnet import wide_resnet101_2 as wide_resnet101_2
from .resnet import wide_resnet50_2 as wide_resnet50_2
from .small import LeNet as LeNet
from .small import MLP as MLP
from .small import lenet as lenet
from .small import mlp as mlp
from .squeezenet import SqueezeNet as SqueezeNet
from .squeezenet import SqueezeNet1_0_Weights as SqueezeNet1_0_Weights
from .squeezenet import SqueezeNet1_1_Weights as SqueezeNet1_1_Weights
from .squeezenet import squeezenet1_0 as squeezenet1_0
from .squeezenet import squeezenet1_1 as squeezenet1_1
from .vgg import VGG as VGG
from .vgg import VGG11_BN_Weights as VGG11_BN_Weights
from .vgg import VGG11_Weights as VGG11_Weights
from .vgg import VGG13_BN_Weights as VGG13_BN_Weights
from .vgg import VGG13_Weights as VGG13_Weights
from .vgg import VGG16_BN_Weights as VGG16_BN_Weights
from .vgg import VGG16_Weights as VGG16_Weights
from .vgg import VGG19_BN_Weights as VGG19_BN_Weights
from .vgg import VGG19_Weights as VGG19_Weights
from .vgg import vgg11 as vgg11
from .vgg import vgg11_bn as vgg11_bn
from .vgg import vgg13 as vgg13
from .vgg import vgg13_bn as vgg13_bn
from .vgg import vgg16 as vgg16
from .vgg import vgg16_bn as vgg16_bn
from .vgg import vgg19 as vgg19
from .vgg import vgg19_bn as vgg19_bn
