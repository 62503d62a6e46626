"""Run by several ranks as people write it: a data set in shards, read by all ranks without reading everything, gone on with in the middle."""

import itertools
import json
import sys

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

kind, folder, workers = sys.argv[1], sys.argv[2], int(sys.argv[3])
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
if kind == "webdataset":
    import webdataset

    data = webdataset.WebDataset(f"{folder}/shard-{{0..7}}.tar", shardshuffle=False, nodesplitter=webdataset.split_by_node)  # fmt: skip
    data = data.decode().to_tuple("json").map(lambda sample: sample[0])
else:
    from datasets import load_dataset
    from datasets.distributed import split_dataset_by_node

    files = [f"{folder}/shard-{k}.{kind}" for k in range(8)]
    data = load_dataset(kind, data_files=files, split="train", streaming=True)
    data = split_dataset_by_node(data, rank=rank, world_size=world)
first = []
if kind != "webdataset":  # stop in the middle, go on with the state
    first = [row["i"] for row in itertools.islice(data, 20)]
    iterator = iter(data)
    for _ in range(20):
        next(iterator)
    data.load_state_dict(json.loads(json.dumps(data.state_dict())))
loader = DataLoader(data, batch_size=5, num_workers=workers)
mine = first + [int(i) for batch in loader for i in batch["i"]]
every = [None] * world
dist.all_gather_object(every, mine)
found = sorted(i for part in every for i in part)
print("torch", torch.__version__, "once", found == list(range(200)), [len(part) for part in every])
dist.destroy_process_group()
