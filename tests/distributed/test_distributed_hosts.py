"""Several hosts: the file that names them, srun, lines that are lost."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from rushlight.distributed import frames, meeting, slurm
from rushlight.distributed.groups import World
from rushlight.distributed.launcher.hosts import read_hosts, written_for
from rushlight.distributed.launcher.job import JobReport, launch
from rushlight.distributed.launcher.options import parse
from rushlight.distributed.launcher.streams import Streams, connect_streams
from rushlight.distributed.store import TCPStore
from rushlight.distributed.store_server import StoreServer


def test_a_file_of_hosts_in_either_spelling(tmp_path) -> None:
    path = tmp_path / "hosts"
    path.write_text("# ours\na slots=4 max_slots=8\n\nb:2  # the second\n10.0.0.3")
    assert read_hosts(str(path)) == ["a", "b", "10.0.0.3"]
    chosen = parse(["--hostfile", str(path), "s.py"])
    assert (chosen.nnodes, chosen.hosts) == (3, ["a", "b", "10.0.0.3"])
    assert parse(["--nnodes", "2", "--hostfile", str(path), "s.py"]).hosts == ["a", "b"]
    for kind, line in (("openmpi", "a slots=4\n"), ("mpich", "a\n")):
        with written_for(kind, ["a", "b"], 4) as written:
            assert written is not None and Path(written).read_text().startswith(line)
        assert not os.path.exists(written)


@pytest.mark.parametrize(
    ("text", "words"),
    [(None, "cannot be read"), ("", "names no host"), ("a\na\n", "twice"), ("a user=me\n", "line 1"), ("a\n", "has only 1")],
    ids=["missing", "empty", "twice", "unknown", "too few"],
)  # fmt: skip
def test_a_wrong_file_of_hosts_is_one_line(text, words, tmp_path, capsys) -> None:
    path = tmp_path / "hosts"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SystemExit) as caught:
        parse(["--nnodes", "2", "--hostfile", str(path), "s.py"])
    assert caught.value.code == 2 and words in capsys.readouterr().err.splitlines()[-1]


def test_srun_that_cannot_work_is_told(monkeypatch, capsys) -> None:
    for name in [n for n in os.environ if n.startswith(("PMI", "OMPI", "SLURM"))]:
        monkeypatch.delenv(name)
    task = {"SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_STEP_ID": "0", "SLURM_NNODES": "2"}
    for name, value in task.items():
        monkeypatch.setenv(name, value)
    assert launch(["--nproc-per-node", "4", "s.py"]) == 2
    said = capsys.readouterr().err
    assert "not 1 x 4" in said and said.count("\n") == 1


@pytest.mark.parametrize(
    ("nodes", "first"),
    [("a", "a"), ("a,b", "a"), ("n[07-09,12],o", "n07"), ("10.77.0.[1-2]", "10.77.0.1"), ("r1c[3,5]x", "r1c3x")],
)
def test_tasks_of_srun_meet_on_the_first_host(nodes: str, first: str, monkeypatch) -> None:
    monkeypatch.delenv("SLURM_PROCID", raising=False)
    assert slurm.task() is None
    said = {"PROCID": "3", "NTASKS": "4", "STEP_ID": "1", "JOB_ID": "77", "NNODES": "2", "LOCALID": "1",
            "TASKS_PER_NODE": "2(x2)", "STEP_NODELIST": nodes}  # fmt: skip
    for name, value in said.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    expected = {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2",
                "MASTER_ADDR": first, "MASTER_PORT": "21233"}  # fmt: skip
    assert slurm.task() == expected


def test_an_agent_that_goes_without_a_word_is_reported() -> None:
    reports: list = []
    heard = threading.Event()
    chosen = parse(["--nproc-per-node", "2", "s.py"])
    streams = Streams("127.0.0.1", chosen, lambda *r: (reports.append(r), heard.set()))
    lines = connect_streams("127.0.0.1", streams.port, streams.key, 1)
    assert lines["agent"].getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    for line in lines.values():
        line.close()
    assert heard.wait(600)
    streams.close()
    ((rank, message),) = reports
    assert "the line to it was lost" in JobReport(rank, 1, 0, *message[3:]).sentence()


def test_a_rank_whose_host_does_not_answer_is_gone(monkeypatch) -> None:
    server = StoreServer("127.0.0.1")
    told = threading.Event()
    before = server.tell_gone
    monkeypatch.setattr(server, "tell_gone", lambda *w: (before(*w), told.set()))

    def lost(line: socket.socket) -> None:
        raise TimeoutError(110, "Connection timed out")  # what the kernel says when nobody answers

    monkeypatch.setattr(server, "_listen_to", lambda client, rank: lost(client))
    with socket.create_connection(("127.0.0.1", server.port)) as line:
        frames.send(line, "present", "3")
        assert told.wait(600)
    server.close()
    assert server.gone == {3: "its host is not reached any more"}


def test_ranks_on_several_hosts_meet_where_the_first_is(monkeypatch) -> None:
    """mpiexec or srun without our launcher: nobody was given a store, so rank 0 serves one on its host."""
    asked: list = []

    class Communicator:
        def allgather(self, mine):
            return ["first", "second"] if isinstance(mine, str) else [False, False]

        def bcast(self, value):
            return 4711

    class Refused(TCPStore):
        def __init__(self, host, port, **more) -> None:
            asked.append((host, port))
            raise ConnectionError

    monkeypatch.setattr(meeting, "TCPStore", Refused)
    monkeypatch.setattr(socket, "gethostname", lambda: "second")
    with pytest.raises(ConnectionError):
        meeting._be_present(World(1, 2, None), Communicator())
    assert asked == [("first", 4711)]
