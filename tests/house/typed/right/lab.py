"""The lab as a user writes it: everything has a type, nothing is an error."""

import rushlight as torch
import rushlight.nn as nn
import rushlight.nn.functional as F
from rushlight import optim
from rushlight.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc1 = nn.Linear(6 * 14 * 14, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool(F.relu(self.conv1(x)))
        x = torch.flatten(x, 1)
        return F.relu(self.fc1(x))


def train(device: torch.device) -> float:
    net = Net().to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
    data = TensorDataset(torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,)))
    running = 0.0
    for inputs, labels in DataLoader(data, batch_size=4, shuffle=True):
        inputs, labels = inputs.to(device), labels.to(device)
        optimizer.zero_grad()
        loss = criterion(net(inputs), labels)
        loss.backward()
        optimizer.step()
        running += loss.item()
    torch.save(net.state_dict(), "net.pth")
    net.load_state_dict(torch.load("net.pth", weights_only=True))
    return running


if __name__ == "__main__":
    print(train(torch.device("cuda:0" if torch.cuda.is_available() else "cpu")))
