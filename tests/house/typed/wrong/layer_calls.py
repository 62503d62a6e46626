"""Every line that ends in `# wrong` is one a type checker must refuse."""

import rushlight as torch
from rushlight import nn, optim
from rushlight.optim.lr_scheduler import StepLR
from rushlight.utils.data import DataLoader, TensorDataset

net = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
optimizer = optim.SGD(net.parameters(), lr=0.1)
StepLR(net, step_size=2)  # wrong
StepLR(optimizer)  # wrong
StepLR(optimizer, step_size="two")  # wrong
optim.SGD(net.parameters(), lr="fast")  # wrong
optimizer.zerograd()  # wrong
optimizer.zero_grad(set_to_none="yes")  # wrong
DataLoader(TensorDataset(torch.zeros(2)), batch_size="4")  # wrong
DataLoader(TensorDataset(torch.zeros(2)), batchsize=4)  # wrong
DataLoader()  # wrong
TensorDataset([1, 2, 3])  # wrong
nn.Sequential(nn.Linear(3, 2), torch.relu)  # wrong
nn.CrossEntropyLoss(reduction=1)  # wrong
nn.CrossEntropyLoss(weights=torch.ones(3))  # wrong
nn.Dropout("half")  # wrong
nn.LSTM(3, 4, bidirectional="yes")  # wrong
nn.Conv2d(3, 4, (3, "3"))  # wrong
nn.Embedding(10)  # wrong
nn.utils.clip_grad_norm_(net.parameters(), "1")  # wrong
net.load_state_dict([torch.zeros(3)])  # wrong
net.train("no")  # wrong
net.to(3.5)  # wrong
torch.load("x.pt", mmap="yes")  # wrong
torch.manual_seed("zero")  # wrong
torch.set_num_threads("all")  # wrong
