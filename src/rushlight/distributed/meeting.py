"""How ranks find each other: the URL or environment they were given, the store, and the MPI world."""

from __future__ import annotations

import atexit
import ctypes
import json
import multiprocessing.util
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import parse_qs, urlparse

from ..base.config import adopt, launcher
from ..base.locks import new_lock
from . import frames, mpiexec, places, sends, slurm
from .errors import DistBackendError
from .gpus import gpus_for_nccl
from .groups import World
from .store import FileStore, Store, TCPStore, connect
from .store_comm import StoreComm

__all__ = ["Meeting", "meet", "rendezvous"]


_ON_ITS_WAY_S = 2.0


class Presence:
    """One connection that stays open while the rank lives, and a thread that listens to it."""

    def __init__(self, store: TCPStore, rank: int, server: int | None, progress: Callable[[], dict[str, Any]]) -> None:
        self.store, self.rank = store, rank
        self._server = server  # the rank that serves the store, if one of them does
        self.gone: dict[int, str] = {}
        self.left: dict[int, float] = {}  # ended in peace, and when that was heard
        self.lost = ""
        self._progress = progress
        self._sending = new_lock()
        self._socket = connect(store.host, store.port, 30.0)
        self._socket.settimeout(None)
        self._pid = os.getpid()
        self._say("present", str(rank))
        # a child of this process must not keep the line open when this process has died
        os.register_at_fork(after_in_child=self._socket.close)
        threading.Thread(target=self._listen, name="rushlight presence", daemon=True).start()

    def _say(self, *fields: str) -> None:
        with self._sending:
            frames.send(self._socket, *fields)

    def tell(self, kind: str, *fields: str) -> None:
        """Tell the launcher something: an error's traceback, that the end is near."""
        try:
            self._say(kind, *fields)
        except OSError:
            pass  # nobody listens any more

    def _listen(self) -> None:
        line = self._socket
        try:
            while (message := frames.receive(line)) is not None:
                kind = message[0].decode()
                if kind == "gone":
                    self.gone[int(message[1])] = message[2].decode()
                elif kind == "left":
                    self.left[int(message[1])] = time.monotonic()
                elif kind == "where":
                    self._say("at", message[1].decode(), json.dumps(self._progress()))
            if self._server is None:
                self.lost = f"the process that served the store at {self.store.host}:{self.store.port} has ended"
            elif self._server not in self.left:
                self.gone[self._server] = "its process ended"
        except TimeoutError:  # the kernel asked for the store's host, and nobody answered
            self.lost = f"the host of the store, {self.store.host}, is not reached any more"
        except OSError:
            return  # the process ends

    @property
    def broken(self) -> str:
        """Why not every rank can be met any more; empty while all can."""
        return self.lost or (f"rank {min(self.gone)} died" if self.gone else "")

    def check(self, doing: str, ranks: Sequence[int]) -> None:
        """Raise when a rank has died, or one of these has ended its script; with its number."""
        if self.lost:
            raise DistBackendError(f"[Rank {self.rank}] {doing} cannot end: {self.lost}. Start the job again from its last checkpoint.")  # fmt: skip
        gone = {r: why for r, why in self.gone.items() if r != self.rank}
        # what a rank sent before it ended may still be on its way
        late = time.monotonic() - _ON_ITS_WAY_S
        gone |= {r: "its script has ended" for r, at in self.left.items() if r in ranks and at < late}
        if gone:
            who = ", ".join(f"rank {r} ({why})" for r, why in sorted(gone.items()))
            raise DistBackendError(
                f"[Rank {self.rank}] {doing} cannot end: {who} is gone. Start the job again from its last checkpoint."
            )

    def where(self) -> dict[str, Any]:
        """Where the other ranks are: {"at": {rank: progress}, "gone": {rank: why}}."""
        try:
            return self.store.where(f"{self.rank}-{os.getpid()}-{id(self)}")
        except (RuntimeError, ValueError):
            return {"at": {}, "gone": {}}

    def leave(self) -> None:
        """Say goodbye, so that nobody takes the end of this process for a death."""
        if self._pid == os.getpid():  # a forked child has no line of its own
            self.tell("bye")
            until = time.monotonic() + _ON_ITS_WAY_S
            while self.rank not in self.left and not self.broken and time.monotonic() < until:
                time.sleep(0.001)  # the store may end with this process: the others have to know before


class _End:
    """What is known when the process ends."""

    failed = False
    meeting: Any = None


def leave_well(meeting: Any) -> None:
    """Have MPI finalized when this process ends well; `meeting` has it, and the line to the others."""
    _End.meeting = meeting
    _watch_excepthook()
    if multiprocessing.util.Finalize is not None and _is_child():
        # children of multiprocessing run no atexit functions
        multiprocessing.util.Finalize(None, _finish_child, exitpriority=100)
    else:
        atexit.register(_finish)


def _is_child() -> bool:
    import multiprocessing

    return multiprocessing.parent_process() is not None


def mark_failed() -> None:
    """Remember that this process ends with an error."""
    _End.failed = True


def _watch_excepthook() -> None:
    before = sys.excepthook

    def hook(kind: Any, error: Any, trace: Any) -> None:
        mark_failed()
        before(kind, error, trace)

    sys.excepthook = hook


def _finish_child() -> None:
    if sys.exc_info()[0] is not None:  # the child's own frame handles an error while this runs
        mark_failed()
    _finish()


def _finish() -> None:
    presence, mpi = _End.meeting.presence, _End.meeting.mpi
    if _End.failed or (presence is not None and presence.broken):
        return
    if presence is not None:
        presence.leave()
        threading.Thread(target=_not_for_ever, args=(presence,), daemon=True).start()
        if mpi is None and presence.store.server is not None:
            while len(presence.left) < _End.meeting.size:  # as MPI_Finalize: they may still read
                time.sleep(0.01)
    if mpi is not None and not mpi.Is_finalized():
        mpi.Finalize()


def _not_for_ever(presence: Any) -> None:
    """End this process when another one dies while MPI says goodbye."""
    while not presence.broken:
        time.sleep(0.1)
    sys.stderr.write(f"rank {presence.rank}: {presence.broken} before the end\n")
    sys.stderr.flush()
    os._exit(1)


class Meeting:
    """The MPI library of this process, once it is started; it starts once in a process's life."""

    mpi: Any = None
    presence: Any = None
    worlds = size = 0  # how many were made without MPI, and of how many ranks the last one is
    by_store = False  # whether the ranks became one world by a store that all of them reach

    @classmethod
    def start(cls) -> Any:
        """Start MPI; afterwards this process is a rank of its world."""
        if cls.mpi is None:
            import mpi4py

            sends.watch()
            mpi4py.rc.initialize = False  # importing it would keep all threads from running meanwhile
            mpi4py.rc.finalize = False  # a rank that failed must not wait for the others: leave_well
            from mpi4py import MPI

            _begin(MPI)
            cls.mpi = MPI
            leave_well(cls)
        return cls.mpi


def _begin(mpi: Any) -> None:
    """MPI_Init_thread, while other threads run: the store that the other ranks still ask may be one of them."""
    if mpi.Is_initialized():
        return
    try:
        begin = ctypes.CDLL(mpi.__file__).MPI_Init_thread
    except (OSError, AttributeError):  # linked in another way
        mpi.Init_thread(mpi.THREAD_MULTIPLE)
        return
    code = begin(None, None, mpi.THREAD_MULTIPLE, ctypes.byref(ctypes.c_int()))
    if code != mpi.SUCCESS:
        raise DistBackendError(f"MPI_Init_thread: {mpi.Get_error_string(code)}")
    for comm in (mpi.COMM_WORLD, mpi.COMM_SELF):
        comm.Set_errhandler(mpi.ERRORS_RETURN)  # then mpi4py raises


def _needed(name: str) -> str:
    value = launcher(name)
    if value is None:
        raise ValueError(
            "Error initializing torch.distributed using env:// rendezvous: environment variable "
            f"{name} expected, but not set"
        )
    return value


def numbers(rank: int, size: int, init_method: str | None) -> tuple[int, int]:
    """Rank and world size: as given, or the URL's, the launcher's, mpiexec's."""
    asked = parse_qs(urlparse(init_method).query) if init_method else {}
    place = mpiexec.place()
    if launcher("RANK") is None and urlparse(init_method or "env://").scheme == "env":
        told = slurm.task() or {}
        adopt({name: value for name, value in told.items() if launcher(name) is None})
    if size == -1:
        found = asked["world_size"][0] if "world_size" in asked else launcher("WORLD_SIZE")
        size = int(found) if found is not None else place.size if place else -1
    if rank == -1:
        found = asked["rank"][0] if "rank" in asked else launcher("RANK")
        rank = int(found) if found is not None else place.rank if place else -1
    if size == -1:
        _needed("WORLD_SIZE")
    if rank == -1:
        _needed("RANK")
    if not 0 <= rank < size:
        raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {size - 1}]")
    return rank, size


def store_for(init_method: str | None, rank: int, size: int, timeout: Any) -> Store:
    """The store that an init_method names."""
    url = urlparse(init_method or "env://")
    if url.scheme == "file":
        return FileStore(url.path, size)
    if url.scheme == "tcp":
        if url.port is None:
            raise ValueError(f"Error initializing torch.distributed using tcp:// rendezvous: port number missing in {init_method}")  # fmt: skip
        host, port = url.hostname or "", url.port
    elif url.scheme == "env":
        host, port = _needed("MASTER_ADDR"), int(_needed("MASTER_PORT"))
    else:
        raise RuntimeError(f"No rendezvous handler for {url.scheme}://")
    served = launcher("RUSHLIGHT_LAUNCHER_STORE") is not None and url.scheme == "env"
    return TCPStore(host, port, size, rank == 0 and not served, timeout, wait_for_workers=False)


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: Any) -> Iterator[Any]:
    """Meet the other ranks at `url`: a generator of one (store, rank, world size).

    Args:
        url: "env://", "tcp://host:port" or "file:///path".
        rank, world_size: this process's number and how many there are; from the launcher if not given.

    Raises:
        RuntimeError: if the kind of `url` is not known.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store, rank, size = next(torch.distributed.rendezvous(f"file://{folder}/store", 0, 1))
        >>> rank, size
        (0, 1)
    """
    rank, world_size = numbers(rank, world_size, url)
    yield store_for(url, rank, world_size, kwargs.get("timeout")), rank, world_size


def meet(
    rank: int, size: int, init_method: str | None, given: Store | None, timeout: Any, backend: str
) -> tuple[World, Any]:
    """Find the other ranks: the world, and a communicator in the order of the ranks, MPI's or a store's."""
    if size == 1:
        return World(rank, size, given), None
    gpus = gpus_for_nccl() if backend == "nccl" else None
    reason = mpiexec.why_not() if Meeting.mpi is None and not gpus else None
    if reason is not None:
        raise DistBackendError(f"a world of {size} processes needs MPI, and {reason}")
    store = given
    place = mpiexec.place()
    if Meeting.mpi is None and place is None:
        if store is None:
            known = Meeting.presence  # of the world before, whose store still serves
            store = known.store if known else store_for(init_method, rank, size, timeout)
        book = places.take(rank, size, store, gpus, Meeting.worlds)
        Meeting.by_store = True
        if book is not None:
            return _without_mpi(World(rank, size, store), book)
    elif store is None and launcher("MASTER_PORT") is not None:
        store = store_for(init_method, rank, size, timeout)
    mpi = Meeting.start()
    if mpi.COMM_WORLD.Get_size() != size:
        raise DistBackendError(
            f"init_process_group: world_size is {size}, but mpiexec started {mpi.COMM_WORLD.Get_size()} processes. Start "
            "as many as the script asks for. (Who imports mpi4py.MPI before this call starts MPI for this process "
            "alone: start the script by `rushlight launch`.)"
        )
    comm = mpi.COMM_WORLD.Split(0, rank)
    world = World(rank, size, store)
    _be_present(world, comm)
    return world, comm


def _without_mpi(world: World, book: Store) -> tuple[World, Any]:
    """A world whose tensors NCCL moves."""
    Meeting.worlds, Meeting.size = Meeting.worlds + 1, world.size
    comm = StoreComm(book, "world", world.rank, world.size)
    _be_present(world, comm)
    if Meeting.worlds == 1:
        leave_well(Meeting)
    return world, comm


def _be_present(world: World, comm: Any) -> None:
    """A line to a store that all ranks reach; where they were given none, rank 0 serves one."""
    store = world.store
    while store is not None and not isinstance(store, TCPStore):
        store = getattr(store, "underlying_store", None)
    served = comm.allgather(store is not None and (Meeting.by_store or (store.host, store.port)))
    servers = comm.allgather(store is not None and store.server is not None)
    if len(set(served)) != 1 or not served[0]:
        servers = [True]
        hosts = comm.allgather(socket.gethostname())
        host = hosts[0] if len(set(hosts)) > 1 else "localhost"  # where rank 0 is
        if world.rank == 0:
            store = TCPStore(host, 0, is_master=True, wait_for_workers=False)
        port = comm.bcast(store.port if world.rank == 0 and store is not None else None)
        if world.rank != 0:
            store = TCPStore(host, port, wait_for_workers=False)
        world.store = world.store or store
    assert isinstance(store, TCPStore)
    if Meeting.presence is None:
        server = servers.index(True) if True in servers else None
        Meeting.presence = Presence(store, world.rank, server, world.progress)
    else:  # a second world of this process: the line stays, what it tells is new
        Meeting.presence._progress = world.progress
    world.presence = Meeting.presence
