"""rushlight by its own name: the embedded images, a compiled training step, and the test."""

import rushlight as rl
from rushlight import nn
from rushlight.utils.data import DataLoader
from rushlight.vision import datasets, models, transforms

device = "cuda" if rl.cuda.is_available() else "cpu"
rl.manual_seed(0)

to_input = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.286,), (0.353,))])
train = DataLoader(datasets.FashionMini(train=True, transform=to_input), 64, shuffle=True)
test = DataLoader(datasets.FashionMini(train=False, transform=to_input), 256)

net = models.lenet(in_channels=1, size=28, num_classes=10).to(device)
optimizer = rl.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
criterion = nn.CrossEntropyLoss()


@rl.compile
def step(x, y):
    optimizer.zero_grad()
    loss = criterion(net(x), y)
    loss.backward()
    optimizer.step()
    return loss


for epoch in range(2):
    losses = [step(x.to(device), y.to(device)) for x, y in train]
    print(f"epoch {epoch + 1}  loss {sum(loss.item() for loss in losses) / len(losses):.3f}")

net.eval()
with rl.no_grad():
    right = sum((net(x.to(device)).argmax(1).cpu() == y).sum().item() for x, y in test)
print(f"right on {right / len(test.dataset):.1%} of {len(test.dataset)} test images")
