"""The lab's network as a PyTorch program: CIFAR-10, two epochs with batches of 4, saved, loaded, tested as a whole and by class."""

import torch
import torchvision
from torch import nn
from torchvision import transforms

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
to_input = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,) * 3, (0.5,) * 3)])
train = torchvision.datasets.CIFAR10("data", train=True, download=True, transform=to_input)
test = torchvision.datasets.CIFAR10("data", train=False, download=True, transform=to_input)
train_loader = torch.utils.data.DataLoader(train, batch_size=4, shuffle=True, num_workers=2)
test_loader = torch.utils.data.DataLoader(test, batch_size=4, num_workers=2)


def make_net():
    return nn.Sequential(
        nn.Conv2d(3, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    ).to(device)  # fmt: skip


if __name__ == "__main__":  # the loaders' workers import this file where processes are spawned
    torch.manual_seed(0)
    net = make_net()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
    for epoch in range(2):
        total = 0.0
        for i, (images, labels) in enumerate(train_loader, 1):
            optimizer.zero_grad()
            loss = criterion(net(images.to(device)), labels.to(device))
            loss.backward()
            optimizer.step()
            total += loss.item()
            if i % 2000 == 0:
                print(f"epoch {epoch + 1}, batch {i}: loss {total / 2000:.3f}")
                total = 0.0

    torch.save(net.state_dict(), "cifar_net.pth")
    net = make_net()
    net.load_state_dict(torch.load("cifar_net.pth"))
    right, seen = torch.zeros(10), torch.zeros(10)
    with torch.no_grad():
        for images, labels in test_loader:
            guesses = net(images.to(device)).argmax(1).cpu()
            right += torch.bincount(labels[guesses == labels], minlength=10)
            seen += torch.bincount(labels, minlength=10)
    print(f"{100 * right.sum().item() / seen.sum().item():.0f} % of {len(test)} pictures")
    for name, part in zip(test.classes, right / seen):
        print(f"{name:>10}: {100 * part.item():.0f} %")
