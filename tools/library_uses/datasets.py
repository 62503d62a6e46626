"""Uses of datasets."""

import datasets
import torch

LIBRARY = "datasets"


def _set() -> datasets.Dataset:
    rows = {
        "x": [[float(i), i / 2, -i] for i in range(10)],
        "y": list(range(10)),
        "text": [f"row {i}" for i in range(10)],
    }
    return datasets.Dataset.from_dict(rows)


def tensors_of_rows() -> object:
    made = _set().with_format("torch")
    return (made[3]["x"], made[2:4]["x"], made["y"][:], len(made[0]["text"]), made[0]["y"].dtype == torch.int64)


def batches_of_a_loader() -> object:
    made = _set().map(lambda row: {"z": [v * 2 for v in row["x"]]}).with_format("torch", columns=["z", "y"])
    loader = torch.utils.data.DataLoader(made, batch_size=4, shuffle=True)
    return [(batch["z"], batch["y"]) for batch in loader]


def a_stream() -> object:
    stream = (
        _set()
        .remove_columns("text")
        .to_iterable_dataset(num_shards=2)
        .shuffle(seed=1, buffer_size=4)
        .with_format("torch")
    )
    return [(row["x"], row["y"]) for row in torch.utils.data.DataLoader(stream, batch_size=3)]


def made_of_tensors() -> object:
    made = datasets.Dataset.from_dict({"a": torch.arange(6.0).view(3, 2), "b": [torch.ones(2)] * 3})
    made.save_to_disk("kept")
    back = datasets.load_from_disk("kept").with_format("torch")
    return back["a"][:], back[1]["b"]
