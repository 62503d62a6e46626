"""Run by several ranks as people write it: a data set in shards, read by all ranks without reading everything.

The first run stops in the middle and writes down how far it came; the second goes on from there.
"""

import collections
import itertools
import json
import pathlib
import sys

import torch
import torch.distributed as dist
from torch.utils.data import ChainDataset, DataLoader

kind, folder, workers, run = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
state = pathlib.Path(folder) / "state"
before = json.loads(state.read_text()) if run == "second" else {"seen": [], "states": {}, "of_shards": {}}


def not_read_yet(samples):
    """Leave out what was read of each shard: on whichever rank it is, however many there are now."""
    met = collections.Counter()
    for sample in samples:
        met[sample["__url__"]] += 1
        if met[sample["__url__"]] > before["of_shards"].get(sample["__url__"], 0):
            yield sample


shards = {}
if kind == "webdataset":
    import webdataset

    data = webdataset.WebDataset(f"{folder}/shard-{{0..7}}.tar", shardshuffle=False, nodesplitter=webdataset.split_by_node)  # fmt: skip
    data = data.compose(not_read_yet).decode()
    data = data.map(lambda sample: {"i": sample["json"]["i"], "shard": sample["__url__"]})
else:
    from datasets import load_dataset

    files = [f"{folder}/shard-{k}.{kind}" for k in range(8)]
    whole = load_dataset(kind, data_files=files, split="train", streaming=True)
    shards = {k: whole.shard(whole.num_shards, k) for k in range(rank, whole.num_shards, world)}
    for k, shard in shards.items():
        if str(k) in before["states"]:
            shard.load_state_dict(before["states"][str(k)])
    data = ChainDataset(shards.values())
loader = DataLoader(data, batch_size=5, num_workers=workers)
mine, counts = [], collections.Counter()
for batch in itertools.islice(loader, 4 if run == "first" else None):
    mine += batch["i"].tolist()
    counts.update(batch.get("shard", ()))
states = {k: shard.state_dict() for k, shard in shards.items()}
every = [None] * world
dist.all_gather_object(every, (mine, counts, states))
seen = before["seen"] + [i for part, _, _ in every for i in part]
if run == "second":
    print("torch", torch.__version__, "once", sorted(seen) == list(range(200)), [len(part) for part, _, _ in every])
elif rank == 0:
    of_shards = sum((count for _, count, _ in every), collections.Counter())
    states = {k: told for _, _, of_rank in every for k, told in of_rank.items()}
    state.write_text(json.dumps({"seen": seen, "states": states, "of_shards": of_shards}))
dist.destroy_process_group()
