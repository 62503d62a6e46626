"""Checkpoints of ranks between PyTorch and rushlight: each reads what two ranks of the other wrote."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight as rl
from rushlight.distributed import mpiexec
from rushlight.io.sharded import CheckpointReader
from test_distributed import environment, free_port, launch, passed

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.skipif(mpiexec.why_not() is not None, reason="several ranks need MPI"),
    pytest.mark.skipif(not torch.distributed.is_available(), reason="PyTorch without distributed"),
]
HERE = Path(__file__).parent / "ranks"


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled:UserWarning")
def test_each_reads_what_the_other_wrote(tmp_path: Path) -> None:
    import torch.distributed.checkpoint as theirs

    port = free_port()
    ranks = [subprocess.Popen(
        [sys.executable, "-W", "ignore", str(HERE / "files.py"), str(tmp_path / "theirs")], stderr=subprocess.PIPE,
        text=True, env={**environment(), "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": port},
    ) for rank in range(2)]  # fmt: skip
    for rank in ranks:
        told = rank.communicate(timeout=600)[1]
        assert rank.returncode == 0, told
    passed(launch(2, "files.py", str(tmp_path / "ours"), str(tmp_path / "theirs")), 2, "read")

    a, b = (CheckpointReader(str(tmp_path / name)).nested() for name in ("theirs", "ours"))
    assert sorted(CheckpointReader(str(tmp_path / "theirs")).names()) == sorted(CheckpointReader(str(tmp_path / "ours")).names())  # fmt: skip
    assert b["columns"].tolist() == a["columns"].tolist() == rl.arange(12.0).reshape(3, 4).tolist()
    assert b["more"]["pair"] == a["more"]["pair"] == (0.5, "x") and a["step"] == 7
    assert b["more"]["list"][2] == a["more"]["list"][2] == {"a": "b"}
    assert a["optim"]["param_groups"][0]["betas"] == b["optim"]["param_groups"][0]["betas"]

    wanted = {
        "model": {"0.weight": torch.zeros(7, 5), "1.bias": torch.zeros(3)}, "step": 0, "columns": torch.zeros(3, 4),
        "more": {"half": torch.zeros(3, dtype=torch.bfloat16), "list": [0, torch.zeros(3, dtype=torch.int64), {"a": ""}], "pair": ()},
        "optim": {"state": {"0.weight": {"exp_avg": torch.zeros(7, 5), "step": torch.tensor(0.0)}}},
    }  # fmt: skip
    theirs.load(wanted, checkpoint_id=tmp_path / "ours", no_dist=True)
    assert wanted["step"] == 7 and wanted["more"]["pair"] == (0.5, "x")
    assert wanted["more"]["list"][1].tolist() == [0, 1, 2] and wanted["more"]["half"].tolist() == [1, 1, 1]
    assert wanted["model"]["0.weight"].tolist() == b["model"]["0.weight"].tolist()
    found = a["optim"]["state"]["0.weight"]["exp_avg"].numpy()
    assert abs(wanted["optim"]["state"]["0.weight"]["exp_avg"].numpy() - found).max() < 1e-6
    assert wanted["optim"]["state"]["0.weight"]["step"] == 1


class _Runs:
    def __reduce__(self):
        return print, ("a table ran code",)


@pytest.mark.parametrize("what", [_Runs(), {"a": 1}, [1, 2], {(1, 2): _Runs()}], ids=["code", "dict", "list", "key"])
def test_a_table_that_is_none_is_refused(what, tmp_path: Path, capsys) -> None:
    (tmp_path / ".metadata").write_bytes(pickle.dumps(what))
    with pytest.raises(RuntimeError, match="is damaged"):
        CheckpointReader(str(tmp_path))
    assert capsys.readouterr().out == ""
