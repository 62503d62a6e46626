"""Uses of torchmetrics."""

import torch
from torchmetrics import Accuracy, F1Score, MeanSquaredError, MetricCollection
from torchmetrics.classification import BinaryAUROC, MulticlassConfusionMatrix
from torchmetrics.functional import pearson_corrcoef
from torchmetrics.image import PeakSignalNoiseRatio, StructuralSimilarityIndexMeasure

LIBRARY = "torchmetrics"


def classification_over_batches() -> object:
    metrics = MetricCollection(
        [Accuracy(task="multiclass", num_classes=5), F1Score(task="multiclass", num_classes=5, average="macro")]
    )
    matrix = MulticlassConfusionMatrix(num_classes=5)
    for _ in range(3):
        scores, target = torch.randn(20, 5).softmax(-1), torch.randint(5, (20,))
        metrics.update(scores, target), matrix.update(scores, target)
    return metrics.compute(), matrix.compute()


def curves_and_regression() -> object:
    x = torch.rand(50)
    y = (x + 0.3 * torch.rand(50) > 0.6).int()
    return BinaryAUROC()(x, y), MeanSquaredError()(x, y.float()), pearson_corrcoef(x, y.float())


def images() -> object:
    a = torch.rand(2, 3, 32, 32)
    b = (a + 0.05 * torch.randn_like(a)).clamp(0, 1)
    ssim = StructuralSimilarityIndexMeasure(data_range=1.0)
    return ssim(a, b), PeakSignalNoiseRatio(data_range=1.0)(a, b)
