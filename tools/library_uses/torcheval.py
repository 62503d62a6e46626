"""Uses of torcheval: scores over batches."""

import torch
from torcheval import metrics
from torcheval.metrics import functional as F

LIBRARY = "torcheval"


def over_batches() -> object:
    kept = (metrics.MulticlassAccuracy(num_classes=4), metrics.MulticlassF1Score(num_classes=4, average="macro"),
            metrics.MulticlassAUROC(num_classes=4), metrics.MulticlassConfusionMatrix(4))  # fmt: skip
    for _ in range(3):
        scores, labels = torch.randn(10, 4).softmax(-1), torch.randint(4, (10,))
        for one in kept:
            one.update(scores, labels)
    return [one.compute() for one in kept]


def functions() -> object:
    p, y = torch.rand(30), torch.randint(2, (30,))
    return (
        F.binary_auroc(p, y), F.binary_auprc(p, y), F.binary_precision_recall_curve(p, y), F.r2_score(p, y.float()),
        F.hit_rate(torch.rand(5, 3), torch.tensor([0, 1, 2, 0, 1]), k=2), F.perplexity(torch.randn(2, 3, 5), torch.randint(5, (2, 3))),
        F.bleu_score(["the cat is here"], [["the cat is there now"]], n_gram=2), F.throughput(64, 2.0),
    )  # fmt: skip
