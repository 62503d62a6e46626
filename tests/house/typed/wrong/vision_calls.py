"""Every line that ends in `# wrong` is one a type checker must refuse."""

import rushlight as torch
from rushlight import distributions as D
from rushlight import nn, vision
from rushlight.vision import transforms
from rushlight.vision.transforms import functional as TF

x = torch.rand(3, 8, 8)
D.Normal(0.0)  # wrong
D.Normal("0", 1.0)  # wrong
D.Normal(0.0, 1.0).sample(3.5)  # wrong
D.Normal(0.0, 1.0).log_probability(x)  # wrong
D.Categorical(prob=x)  # wrong
transforms.Resize("large")  # wrong
transforms.Resize(8, interpolation="bilinear", colour=3)  # wrong
transforms.Normalize(0.5)  # wrong
transforms.RandomCrop()  # wrong
transforms.RandomCrop(32, padding="4")  # wrong
transforms.ToTenser()  # wrong
TF.resize(x)  # wrong
TF.resize("picture.png", [4, 4])  # wrong
TF.rotate(x, "left")  # wrong
TF.crop(x, 0, 0)  # wrong
vision.models.resnet18(weights=3)  # wrong
vision.models.resnet18().nothing_at_all.more(3) if False else vision.models.resnet20()  # wrong
vision.ops.nms(x, x)  # wrong
torch.autocast()  # wrong
torch.autocast("cpu", dtype="bfloat16")  # wrong
torch.compile(nn.Linear(3, 4), fullgraph="yes")  # wrong
torch.save(x)  # wrong
torch.save(x, 3.5)  # wrong
torch.load()  # wrong
torch.amp.GradScaler("cpu", init_scale="big")  # wrong
nn.Parameter("weights")  # wrong
nn.init.normal_("w")  # wrong
nn.init.kaiming_normal_(x, nonlinear="relu")  # wrong
nn.LayerNorm("wide")  # wrong
nn.BatchNorm2d()  # wrong
nn.MultiheadAttention(8, "2")  # wrong
