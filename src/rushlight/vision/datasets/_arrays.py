"""Datasets whose pictures are one array in memory: single samples, and whole batches at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.device import as_device
from ...core.tensor import Tensor, wrap
from ...data.batching import Batcher, words
from ...data.collate import default_collate
from ...data.resident import Resident, rows
from ...data.seeding import default_stream
from ...runtime.devices import backend_of
from ...runtime.door import Kernel, run
from .. import _pillow
from ..transforms._batch import PlannedTransform, Stage, plan, xp_of
from ..transforms._tables import Gathering, gathered, gathering
from .utils import not_found
from .vision import Published, VisionDataset

if TYPE_CHECKING:
    from ...base.device import device


def _transformed(xp: Any, x: Any, *, step: PlannedTransform) -> Any:
    return xp.ascontiguousarray(step.run(x, np.empty((len(x), 0), np.uint32)))


# What a transform without random numbers makes of a batch's pictures; they may be changed.
_TRANSFORMED = Kernel("transformed", _transformed, mutates=(0,))


class PlanesDataset(Published):
    """Pictures in `data`, uint8 (N, C, H, W); class numbers in `labels`."""

    data: np.ndarray
    labels: np.ndarray

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        planes = np.ascontiguousarray(self.data[index].transpose(1, 2, 0))
        return self._sample(_pillow.need().fromarray(planes), int(self.labels[index]))


class ArrayDataset(VisionDataset):
    """Pictures in `data`, uint8 (N, H, W, C) or (N, H, W); class numbers in `targets`."""

    data: Any
    targets: Any
    _resident: tuple[Any, Any] | None = None  # pictures and class numbers on another device
    _gathers: tuple[Any, Resident] | None = None

    train: bool

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train is True else 'Test'}"

    _find: Any  # what the files hold, or what is wrong with them
    download: Any

    def _found(self, download: bool, folder: str, files: list[str]) -> Any:
        """What the files in `folder` hold, which are fetched if they are not there."""
        found = self._find()
        if isinstance(found, str) and download:
            self.download()
            found = self._find()
        if isinstance(found, str):
            raise not_found(folder, files, found)
        return found

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """(picture, class number), transformed."""
        if self._resident is not None or not _pillow.available():
            step = self._plan()
            if step is not None:
                return self._one(int(index), step)
            if self._resident is not None:
                raise RuntimeError(self._unbatched())
        target = self.targets[index]
        target = int(target) if isinstance(target, Tensor) else target
        img: Any = _pillow.need().fromarray(np.asarray(self.data[index]))
        if self.transform is not None:
            img = self.transform(img)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return img, target

    # -- whole batches ---------------------------------------------------------------------------

    def _planes(self) -> np.ndarray | None:
        """The pictures as (N, C, H, W), a view; None when `data` is something else by now."""
        a = self.data._a if isinstance(self.data, Tensor) else self.data
        if a.__class__ is not np.ndarray or a.dtype != np.uint8:
            return None
        if a.ndim == 3:
            return a[:, None]
        return a.transpose(0, 3, 1, 2) if a.ndim == 4 and a.shape[3] == 3 else None

    def _plan(self) -> PlannedTransform | None:
        """What the transform does to a batch; None when it has to go picture by picture."""
        planes = self._planes()
        if planes is None or self.transform is None or self.target_transform is not None:
            return None
        step = plan(self.transform, Stage(planes.shape[1:], planes.dtype, True))
        return None if step is None or step.after.pil else step

    def __batcher__(self) -> Batcher | None:
        step = self._plan()
        if step is None:
            if self._resident is not None:
                raise RuntimeError(self._unbatched())
            return None
        gather = gathering(step, np.dtype(np.uint8))
        return Batcher(
            lambda indices, stream: self._batch(indices, stream, step, gather),
            step.words > 0,
            None if self._resident is None or step.words else self._gather_for_programs(step),
        )

    def _gather_for_programs(self, step: PlannedTransform) -> Resident:
        """Pictures and class numbers on their device, and how a program makes a batch of them."""
        assert self._resident is not None
        described = (repr(self.transform), id(self._resident))
        if self._gathers is None or self._gathers[0] != described:

            def fetch(places: Any, pictures: Any, labels: Any) -> tuple[Any, Any]:
                x = rows(pictures, places)
                return run(_TRANSFORMED, x.__class__, (x,), {"step": step}), rows(labels, places)

            pictures, labels = self._resident
            self._gathers = (described, Resident((wrap(pictures), wrap(labels)), fetch))
        return self._gathers[1]

    def _batch(
        self, indices: np.ndarray, stream: Any, step: PlannedTransform, gather: Gathering | None = None
    ) -> list[Tensor]:
        n = len(indices)
        drawn = words(stream, n, step.words) if step.words else np.empty((n, 0), np.uint32)
        if self._resident is not None:
            pictures, labels = self._resident
            self._check(indices)
            xp = xp_of(pictures)
            places = xp.asarray(indices)
            x = step.run(rows(pictures, places), drawn)
            return [wrap(xp.ascontiguousarray(x)), wrap(rows(labels, places))]
        planes = self._planes()
        if planes is None:
            raise RuntimeError("the pictures of the dataset were replaced during an epoch")
        if gather is None:
            x = step.run(gathered(planes, indices), drawn)
        else:
            x = gather(planes, indices, drawn)
        return [wrap(np.ascontiguousarray(x)), self._labels(indices)]

    def _labels(self, indices: np.ndarray) -> Tensor:
        targets = self.targets
        if isinstance(targets, Tensor):
            return wrap(targets._a.take(indices).astype(np.int64, copy=False))
        return default_collate([targets[i] for i in indices.tolist()])

    def _one(self, index: int, step: PlannedTransform) -> tuple[Tensor, int]:
        """One sample by way of a batch of one."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range for a dataset of {len(self)} pictures")
        x, target = self._batch(np.array([index]), default_stream(), step)
        return x[0], int(target[0])

    # -- other devices ---------------------------------------------------------------------------

    def to(self, device: device | str) -> ArrayDataset:
        """Keep the pictures, as bytes, on `device`: batches are gathered and transformed there.

        `data` and `targets` stay as they are; after changing them, call `to` again.
        """
        wanted = as_device(device)
        if wanted.type == "cpu":
            self._resident = None
            return self
        planes = self._planes()
        if planes is None:
            raise RuntimeError("only pictures in one uint8 array can be kept on a device")
        backend = backend_of(wanted)
        place = backend.check(wanted)
        labels = np.asarray(self._labels(np.arange(len(self)))._a)
        pictures = backend.from_host(np.ascontiguousarray(planes), place)
        self._resident = (pictures, backend.from_host(labels, place))
        return self

    def _check(self, indices: np.ndarray) -> None:
        n = len(self)
        if indices.size and not (-n <= indices.min() and indices.max() < n):
            raise IndexError(f"an index is out of range for a dataset of {n} pictures")

    def _unbatched(self) -> str:
        return (
            f"the pictures are kept on a device, where they are transformed batch by batch, and "
            f"{self.transform!r} has no batched form; use ToTensor, Normalize, flips, crops and "
            "padding only, or bring the dataset back with .to('cpu')."
        )
