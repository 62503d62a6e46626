"""Ranks that share nothing but a store's address become one world, without ssh, hostfile or a launcher of ours."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rushlight.distributed import mpiexec, places
from rushlight.distributed.errors import DistBackendError, DistNetworkError
from rushlight.distributed.launcher.hosts import Attempts
from rushlight.distributed.store import TCPStore, listens_at
from rushlight.distributed.store_server import StoreServer
from test_distributed import HERE, environment, free_port, needs_mpi, python

pytestmark = needs_mpi
FOUND = mpiexec.find()
needs_mpich = pytest.mark.skipif(FOUND is None or FOUND.kind != "mpich", reason="several hosts without ssh need MPICH's mpiexec")  # fmt: skip


def start(rank: int, size: int, port: str, *words: str, inside: tuple[str, ...] = (), script: str = "meets.py", **more: str) -> subprocess.Popen:  # fmt: skip
    told = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "RANK": str(rank), "WORLD_SIZE": str(size)}
    return subprocess.Popen(
        [*inside, sys.executable, str(HERE / script), *words], env={**environment(), **told, **more},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ended(*ranks: subprocess.Popen) -> list[tuple[int, str]]:
    told = []
    for rank in ranks:
        out, err = rank.communicate(timeout=900)
        told.append((rank.returncode, out + err))
    return told


@needs_mpich
@pytest.mark.parametrize("hosts", ["aab", "abab", "abc"])
def test_ranks_of_several_hosts_are_one_world(hosts: str, tmp_path) -> None:
    port, size = free_port(), len(hosts)
    ranks = [start(r, size, port, TEST_HOST=h, TMPDIR=str(tmp_path)) for r, h in enumerate(hosts)]
    total = float(size * (size + 1) // 2)
    said = f"sum {total} {total} {list(enumerate(hosts))}\n"
    assert [(code, text) for code, text in ended(*ranks)] == [(0, said)] * size
    # The folders of places go as soon as every place was taken, by processes that outlive the ranks for a moment.
    until = time.monotonic() + 600
    while os.listdir(tmp_path) and time.monotonic() < until:
        time.sleep(0.05)
    assert os.listdir(tmp_path) == []


def test_ranks_with_a_gpu_each_need_no_mpi() -> None:
    """NCCL's id goes by the store, and so does all that a script's collectives do on the host."""
    port, words = free_port(), (str(HERE / "collectives.py"),)
    told = ended(*[start(r, 2, port, *words, script="gpus_apart.py") for r in range(2)])
    assert all(code == 0 and "passed derivatives\npassed ids" in text for code, text in told), told


def test_ranks_that_share_a_gpu_need_mpi() -> None:
    port, words = free_port(), (str(HERE / "meets.py"),)
    told = ended(*[start(r, 2, port, *words, script="gpus_apart.py", TEST_SHARED="1") for r in range(2)])
    for code, text in told:
        assert code == 3 and "2 processes that share GPUs need MPI, and mpi4py is not installed" in text, told


def test_a_rank_that_does_not_come_is_named() -> None:
    port = free_port()
    told = ended(*[start(r, 4, port, TEST_SECONDS="1") for r in (0, 2)])
    # On a slow machine rank 2 is too late as well.
    assert told[0][0] == 3 and re.search("ranks 1, (2, )?3 of 4 did not come within 1 s", told[0][1])
    assert told[1][0] == 3


def test_a_rank_too_many_is_told_the_size_of_the_world(monkeypatch) -> None:
    from rushlight.distributed.store import HashStore

    book = HashStore()
    monkeypatch.setattr(places, "_opened", lambda host, plan: "error:not needed here")
    for rank in (1, 0, 5):
        with pytest.raises(DistBackendError) as caught:
            if rank == 1:  # it would wait for rank 0, in another process
                places._arrive(1, 2, places.PrefixStore("places/0/0", book))
                raise DistBackendError
            places.take(rank, 2 if rank == 0 else 6, book)
    assert str(caught.value) == "rank 5 of 6 came to a world of 2"


def test_a_store_with_a_token_answers_only_those_who_know_it(monkeypatch) -> None:
    monkeypatch.setenv("RUSHLIGHT_STORE_TOKEN", "correct horse")
    store = TCPStore("localhost", 0, is_master=True)
    other = TCPStore("localhost", store.port)
    other.set("a", "1")
    assert store.get("a") == b"1"
    monkeypatch.setenv("RUSHLIGHT_STORE_TOKEN", "battery")
    with pytest.raises(DistBackendError, match="does not take the token of this process"):
        TCPStore("localhost", store.port)
    monkeypatch.delenv("RUSHLIGHT_STORE_TOKEN")
    with pytest.raises(RuntimeError, match="needs a token"):
        TCPStore("localhost", store.port).set("a", "2")
    assert store.get("a") == b"1"
    open_store = TCPStore("localhost", 0, is_master=True)
    monkeypatch.setenv("RUSHLIGHT_STORE_TOKEN", "correct horse")
    with pytest.raises(DistBackendError, match="asks for no token"):
        TCPStore("localhost", open_store.port)
    for one in (store, other, open_store):
        one.close()


def test_a_store_listens_only_where_others_must_reach_it(monkeypatch) -> None:
    assert listens_at("localhost") == "127.0.0.1"
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert listens_at("localhost") == ""  # how an operator calls the first pod inside of it
    assert listens_at("no.such.name.invalid") == ""


def test_a_name_that_is_not_known_yet_is_asked_for_again() -> None:
    with pytest.raises(DistNetworkError, match="Its name is not known here"):
        TCPStore("no.such.name.invalid", 1, timeout=0.2)


@pytest.mark.parametrize("text", ["29600", "1-2", "29600-29500", "a-b", "29600-70000"])
def test_ports_that_are_none_are_refused(text: str, monkeypatch) -> None:
    monkeypatch.setenv("RUSHLIGHT_PORTS", text)
    with pytest.raises(ValueError, match="RUSHLIGHT_PORTS must be FIRST-LAST"):
        places._ports()


# -- two hosts made of one: network namespaces ------------------------------------------------------------------------

_numbers = itertools.count()


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=600)


@contextlib.contextmanager
def two_hosts() -> Iterator[tuple[str, str, str]]:
    """Two network namespaces joined by a virtual cable, and the names of both and of the cable's end in the second."""
    if not (os.geteuid() == 0 and shutil.which("ip") and shutil.which("unshare")):
        pytest.skip("network namespaces need root, `ip` and `unshare`")
    mark = f"{os.getpid()}x{next(_numbers)}"
    a, b, here, there = f"rl-a{mark}", f"rl-b{mark}", f"a{mark}"[:15], f"b{mark}"[:15]
    try:
        _ip("netns", "add", a)
    except (subprocess.CalledProcessError, OSError) as error:
        pytest.skip(f"no network namespace can be made here: {error}")
    try:
        _ip("netns", "add", b)
        try:
            _ip("link", "add", here, "type", "veth", "peer", "name", there)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no virtual cable can be made here: {error}")
        for space, end, address in ((a, here, "10.77.0.1/24"), (b, there, "10.77.0.2/24")):
            _ip("link", "set", end, "netns", space)
            _ip("-n", space, "addr", "add", address, "dev", end)
            _ip("-n", space, "link", "set", end, "up")
            _ip("-n", space, "link", "set", "lo", "up")
        yield a, b, there
    finally:
        for space in (a, b):
            subprocess.run(["ip", "netns", "del", space], capture_output=True, timeout=600)


def on(host: str) -> tuple[str, ...]:
    return ("ip", "netns", "exec", host, "unshare", "-u", "sh", "-c", f'hostname {host}; exec "$0" "$@"')


@needs_mpich
def test_two_networks_without_ssh_are_one_world_and_a_lost_one_is_named() -> None:
    with two_hosts() as (a, b, cable):
        # The transport must not see that both hosts are one machine.
        more: dict[str, Any] = {"MASTER_ADDR": "10.77.0.1", "RUSHLIGHT_PORTS": "29600-29700", "UCX_TLS": "tcp,self"}
        ranks = [start(r, 4, "29511", "wait", inside=on(h), **more) for r, h in enumerate((a, b, a, b))]
        for rank in ranks:
            assert rank.stdout is not None and rank.stdout.readline().startswith("sum 10.0 10.0")
        _ip("-n", b, "link", "set", cable, "down")  # nobody says goodbye
        cut = time.time()
        told = ended(*ranks)
        late = [float(found) - cut for _, text in told for found in re.findall(r"told at ([\d.]+)", text)]
        print("told after", [round(seconds, 1) for seconds in late], "s")  # shown by pytest -s
        assert [code for code, _ in told] == [4] * 4, told
        for rank in (0, 2):
            lost = "rank [13] \\(its host is not reached any more\\)"  # the first that is noticed, or both
            assert re.search(lost, told[rank][1]), told
        for rank in (1, 3):
            assert "the host of the store, 10.77.0.1, is not reached any more" in told[rank][1], told


def launched(host: str, *words: str, **more: str) -> subprocess.Popen:
    command = [*on(host), sys.executable, "-m", "rushlight", "launch", "--nnodes", "2", "--nproc-per-node", "2"]
    return subprocess.Popen(
        [*command, *words], env={**environment(), "UCX_TLS": "tcp,self", **more},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@needs_mpich
@pytest.mark.parametrize("way", ["static", "c10d"])
def test_torchrun_on_every_host(way: str) -> None:
    with two_hosts() as (a, b, _):
        point = ["--rdzv-backend", "c10d", "--rdzv-endpoint", "10.77.0.1:29513"]
        static = ["--master-addr", "10.77.0.1", "--master-port", "29514", "--node-rank"]
        script = str(HERE / "meets.py")
        jobs = [
            launched(host, *([*static, str(k)] if way == "static" else point), script) for k, host in ((0, a), (1, b))
        ]
        for node, (code, text) in enumerate(ended(*jobs)):
            assert code == 0, text
            for rank in (2 * node, 2 * node + 1):
                assert f"[rank{rank}]: sum 10.0 10.0" in text, text


@needs_mpich
def test_a_failed_rank_ends_the_job_on_every_host() -> None:
    with two_hosts() as (a, b, _):
        point = ["--rdzv-endpoint", "10.77.0.1:29515", str(HERE / "meets.py"), "wait"]
        jobs = [launched(host, *point, TEST_FAILS="1") for host in (a, b)]
        told = ended(*jobs)
        assert all(code != 0 for code, _ in told), told
        assert any("failed with exit code 7" in text for _, text in told), told


@needs_mpich
def test_the_first_pod_may_be_called_localhost_inside() -> None:
    """As Kubernetes' PyTorchJob sets it: localhost on the master, its service's name on the others."""
    with two_hosts() as (a, b, _):
        more = {"KUBERNETES_SERVICE_HOST": "10.77.0.100"}
        first = start(0, 2, "29512", inside=on(a), **more | {"MASTER_ADDR": "localhost"})
        second = start(1, 2, "29512", inside=on(b), **more | {"MASTER_ADDR": "10.77.0.1"})
        assert [code for code, _ in ended(first, second)] == [0, 0]


# -- who does not belong there ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("hosts", ["one host", "two hosts"])
@pytest.mark.parametrize("case", ["size", "version", "twice"])
def test_ranks_that_do_not_belong_together_are_told_on_both_sides(case: str, hosts: str) -> None:
    with contextlib.ExitStack() as stack:
        insides: list[tuple[str, ...]] = [(), ()]
        more = {}
        if hosts == "two hosts":
            insides = [on(host) for host in stack.enter_context(two_hosts())[:2]]
            more = {"MASTER_ADDR": "10.77.0.1"}
        port = free_port()
        if case == "twice":
            told = ended(*[start(r, 3, port, inside=insides[at], **more) for r, at in ((0, 0), (1, 0), (1, 1))])
            words = "rank 1 came twice: first as process "
        else:
            other = more | ({"TEST_VERSION": "0.0.1"} if case == "version" else {})
            told = ended(
                start(0, 2, port, inside=insides[0], **more),
                start(1, 3 if case == "size" else 2, port, inside=insides[1], **other),
            )
            words = {"size": "has a world of 3 ranks", "version": "has rushlight 0.0.1"}[case]
    assert [code for code, _ in told] == [3] * len(told), told
    assert all(words in text for _, text in told), told


def test_who_comes_late_is_refused_and_does_not_disturb_the_others() -> None:
    port = free_port()
    ranks = [start(r, 2, port, "wait") for r in range(2)]
    for rank in ranks:
        assert rank.stdout is not None and rank.stdout.readline().startswith("sum 3.0")
    late = ended(start(1, 2, port), start(2, 3, port))  # a second rank 1, one of another run
    assert [code for code, _ in late] == [3, 3], late
    assert "rank 1 came twice: first as process " in late[0][1]
    assert "rank 2 of 3 came to a world of 2" in late[1][1]
    assert [rank.poll() for rank in ranks] == [None, None]
    ranks[1].kill()
    code, text = ended(ranks[0])[0]
    ended(ranks[1])
    assert code == 4 and "rank 1 (its process ended) is gone" in text, text


@needs_mpich
@pytest.mark.parametrize("dead", [0, 1])
def test_a_send_to_a_rank_that_is_gone_is_refused_and_its_name_told(dead: int) -> None:
    port = free_port()
    ranks = [start(r, 2, port, "sends", TEST_HOST=host, UCX_TLS="tcp,self") for r, host in enumerate("ab")]
    for rank in ranks:
        assert rank.stdout is not None and rank.stdout.readline().startswith("sum 3.0")
    ranks[dead].kill()
    code, text = ended(ranks[1 - dead])[0]
    ended(ranks[dead])
    assert code == 4 and text.startswith("refused True"), (code, text)
    assert f"rank {dead} (its process ended) is gone" in text, text


# -- killed ranks and hosts -------------------------------------------------------------------------------------------


def _resuming(host: str, node: int, nodes: str, port: str, folder: Path, log: Any) -> subprocess.Popen:
    words = ["--nnodes", nodes, "--node-rank", str(node), "--master-addr", "10.77.0.1", "--master-port", port,
             "--rdzv-conf", "last_call_timeout=0.2", "--max-restarts", "100000",
             str(HERE / "resumes.py"), str(folder), str(10**6), "slowly"]  # fmt: skip
    return subprocess.Popen(
        [*on(host), sys.executable, "-m", "rushlight", "launch", *words],
        env={**environment(), "UCX_TLS": "tcp,self"}, stdout=log, stderr=log,
    )  # fmt: skip


def test_a_host_that_comes_back_before_its_loss_is_seen_waits_for_the_next_attempt():
    served = StoreServer("127.0.0.1")
    words = {"master_addr": "127.0.0.1", "master_port": served.port, "rdzv_conf": "join_timeout=60", "fewest": 2, "nnodes": 2}  # fmt: skip
    first, lost, back = [Attempts(SimpleNamespace(node_rank=k, **words), served if k == 0 else None) for k in (0, 1, 1)]
    with ThreadPoolExecutor() as pool:
        begun = pool.submit(lost.begin, 0, 0)
        assert first.begin(0, 0).hosts == [first.name, lost.name] == begun.result().hosts
        again = pool.submit(back.begin, 0, 0)  # attempt 0 is under way, with the host that was lost
        with served.changed:
            served.changed.wait_for(lambda: back.name in served.hosts)
        assert first.begin(1, 1).hosts == [first.name, back.name] == again.result().hosts
    served.close()


def _pids(folder: Path, world: int) -> dict[int, int]:
    """The process of each rank that has begun to train in a world of this size."""
    found = [path for path in folder.glob("pid-*") if path.name[4:].isdecimal()]
    told = {int(path.name[4:]): [int(word) for word in path.read_text().split()] for path in found}
    return {rank: pid for rank, (pid, size) in told.items() if size == world}


def _begun(folder: Path, world: int, before: dict[int, int], jobs: list[subprocess.Popen], log: Path) -> None:
    """Wait until the ranks of a world of this size are others than before, and there is a checkpoint."""
    until = time.monotonic() + 600
    while (
        len(now := _pids(folder, world)) < world
        or any(now[rank] == before.get(rank) for rank in range(world))
        or not (folder / "last.pt").exists()
    ):
        assert time.monotonic() < until and all(j.poll() is None for j in jobs), log.read_text()
        time.sleep(0.02)


@needs_mpich
@pytest.mark.parametrize("nodes", ["2", "1:2"])
def test_ranks_and_a_host_that_are_killed_come_back_and_nothing_is_lost(nodes: str, tmp_path: Path) -> None:
    """Kills at random moments: of all that runs on the second host, of a rank, and with RUSHLIGHT_TEST_KILLS more of either.

    With 1:2 the first host goes on alone until the second is there again. Afterwards the same steps are made by
    worlds of the same sizes, each stopped and resumed by hand.
    """
    kills = int(os.environ.get("RUSHLIGHT_TEST_KILLS", "2"))
    chance = random.Random(int(os.environ.get("RUSHLIGHT_TEST_SEED", "0")))
    folder, log = tmp_path / "killed", tmp_path / "log"
    folder.mkdir()
    port, done, alone = "29517", [], {}
    with two_hosts() as (a, b, _), open(log, "w") as out:
        jobs = [_resuming(host, k, nodes, port, folder, out) for k, host in enumerate((a, b))]
        try:
            _begun(folder, 2, {}, jobs, log)
            for kill in range(kills):
                time.sleep(chance.uniform(0, 1))
                before = _pids(folder, 2)
                first = ["host", "rank 1" if nodes == "2" else "rank 0"]
                what = first[kill] if kill < len(first) else chance.choice(["rank 0", "rank 1", "host"])
                if what == "host":
                    said = subprocess.run(["ip", "netns", "pids", b], capture_output=True, text=True, check=True, timeout=600)  # fmt: skip
                    for pid in map(int, said.stdout.split()):
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(pid, signal.SIGKILL)
                    jobs[1].wait()
                    if nodes == "1:2":
                        _begun(folder, 1, alone, jobs[:1], log)
                        alone = _pids(folder, 1)
                    jobs[1] = _resuming(b, 1, nodes, port, folder, out)
                else:
                    os.kill(before[int(what[-1])], signal.SIGKILL)
                _begun(folder, 2, before, jobs, log)
                done.append(what)
        finally:
            for job in jobs:
                job.terminate()
            for job in jobs:
                job.wait()
    said = log.read_text()
    assert re.search(r"rank 1 \(.*\) is gone", said) and "SIGSEGV" not in said, said
    import rushlight as rl

    saved = rl.load(folder / "last.pt", weights_only=True)
    segments = [(int(at), int(world)) for at, world in re.findall(r"segment (\d+) (\d+)", said)]
    print(f"{len(done)} kills: {', '.join(done)}; {saved['step']} steps, {len(segments)} attempts")
    whole = tmp_path / "whole"
    whole.mkdir()
    ends = [at for at, _ in segments[1:]] + [saved["step"]]
    while segments:  # of neighbours with one size one run
        at, world = segments.pop(0)
        end = ends.pop(0)
        while segments and segments[0][1] == world:
            segments.pop(0)
            end = ends.pop(0)
        if end > at:
            by_hand = python("-m", "rushlight", "launch", "--nproc-per-node", str(world), str(HERE / "resumes.py"), str(whole), str(end))  # fmt: skip
            assert by_hand.returncode == 0, by_hand.stdout + by_hand.stderr
    other = rl.load(whole / "last.pt", weights_only=True)
    assert other["step"] == saved["step"]
    for name, value in saved["model"].items():
        assert value.tolist() == other["model"][name].tolist()  # to the last bit
    for kept, again in zip(saved["optimizer"]["state"].values(), other["optimizer"]["state"].values()):
        assert kept["momentum_buffer"].tolist() == again["momentum_buffer"].tolist()


@needs_mpich
@pytest.mark.skipif("RUSHLIGHT_TEST_KILLS" not in os.environ, reason="asked for by hand: ten seconds a kill")
def test_a_rank_killed_at_any_point_of_a_step_on_two_hosts_is_named(tmp_path: Path) -> None:
    """RUSHLIGHT_TEST_KILLS (N, or a portion M:N) of the 40 points of both ranks, in the order of RUSHLIGHT_TEST_SEED; each run goes on from the last's checkpoint."""
    import rushlight as rl

    points = [(rank, point) for rank in range(2) for point in range(20)]
    random.Random(int(os.environ.get("RUSHLIGHT_TEST_SEED", "0"))).shuffle(points)
    with two_hosts() as (a, b, _):
        first, _, end = os.environ["RUSHLIGHT_TEST_KILLS"].rpartition(":")
        for rank, point in points[int(first or 0) : int(end)]:
            last = tmp_path / "last.pt"
            at = rl.load(last, weights_only=True)["step"] if last.exists() else 0
            words = [
                "--nproc-per-node",
                "1",
                "--rdzv-endpoint",
                "10.77.0.1:29519",
                str(HERE / "resumes.py"),
                str(tmp_path),
                "100000",
            ]
            told = ended(*[launched(host, *words, TEST_DIES=f"{rank} {at} {point}") for host in (a, b)])
            said = "".join(text for _, text in told)
            assert all(code for code, _ in told) and "SIGSEGV" not in said, said
            assert re.search(rf"rank {rank} \(pid \d+ on .* was killed by SIGKILL", said), said
            print(rank, point, at, [code for code, _ in told])  # shown by pytest -s
