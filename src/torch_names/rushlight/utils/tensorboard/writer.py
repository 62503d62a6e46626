"""SummaryWriter: numbers, pictures, distributions and text of a run, for TensorBoard."""

from __future__ import annotations

import datetime
import io
import os
import socket
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import numpy as np

from ...base import png
from ...core.tensor import Tensor
from . import events, plugins


def write_points(folder: str, points: np.ndarray) -> None:
    """One row of numbers for each point."""
    with open(os.path.join(folder, "tensors.tsv"), "w") as f:
        f.writelines(["\t".join([str(v) for v in row.tolist()]) + "\n" for row in points])


def write_labels(folder: str, labels: Sequence[Any], header: Sequence[str] | None) -> None:
    """One row for each point; with a header each has several labels."""
    rows = [str(x) for x in labels]
    if header:
        rows = ["\t".join(header), *["\t".join(map(str, row)) for row in labels]]
    with open(os.path.join(folder, "metadata.tsv"), "w", encoding="utf8") as f:
        f.writelines([row + "\n" for row in rows])


def sheet(pictures: np.ndarray) -> np.ndarray:
    """Pictures (N, C, H, W) of one square sheet, row by row, as (H, W, C) bytes."""
    n, channels, height, width = pictures.shape
    side = int(np.ceil(n**0.5))
    full = np.zeros((side * side, channels, height, width), np.float64)
    full[:n] = pictures
    grid = full.reshape(side, side, channels, height, width).transpose(0, 3, 1, 4, 2)
    grid = grid.reshape(side * height, side * width, channels)
    grid = grid if pictures.dtype == np.uint8 else grid * 255
    return np.repeat(grid, 3, 2).astype(np.uint8) if channels == 1 else grid.astype(np.uint8)


def description(tag: str, step: str, where: str, labels: bool, pictures: np.ndarray | None) -> str:
    """The entry of one set of points in projector_config.pbtxt."""
    lines = [f'tensor_name: "{tag}:{step}"', f'tensor_path: "{where}/tensors.tsv"']
    if labels:
        lines.append(f'metadata_path: "{where}/metadata.tsv"')
    if pictures is not None:
        height, width = pictures.shape[2:]
        lines += ["sprite {", f'  image_path: "{where}/sprite.png"']
        lines += [f"  single_image_dim: {n}" for n in (width, height)] + ["}"]
    return "embeddings {\n" + "".join([f"  {line}\n" for line in lines]) + "}\n"


def _array(value: Any) -> np.ndarray:
    if isinstance(value, Tensor):
        t = value.detach().cpu()
        return (t.float() if t.dtype.name == "bfloat16" else t).numpy()
    return np.asarray(value)


class SummaryWriter:
    """Writes event files into `log_dir` (runs/<date>_<host> without one).

    Args:
        log_dir: the folder.
        comment: put behind the name of a folder that is not given.
        purge_step, max_queue, flush_secs: accepted and not needed.
        filename_suffix: put behind the names of the files.

    Example:
        >>> import os, tempfile
        >>> from rushlight.utils.tensorboard import SummaryWriter
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with SummaryWriter(folder) as writer:
        ...         for step in range(3):
        ...             writer.add_scalar("loss", 1 / (step + 1), step)
        ...     len(os.listdir(folder))
        1
    """

    def __init__(
        self, log_dir: Any = None, comment: str = "", purge_step: int | None = None, max_queue: int = 10,
        flush_secs: int = 120, filename_suffix: str = "",
    ) -> None:  # fmt: skip
        if not log_dir:
            now = datetime.datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = os.fspath(log_dir)
        self.suffix = filename_suffix
        self.file = events.EventFile(self.log_dir, filename_suffix, purge_step)
        self.others: dict[str, events.EventFile] = {}
        self.projected: dict[str, str] = {}  # entries of projector_config.pbtxt, by folder

    def get_logdir(self) -> str:
        """The folder that is written to."""
        return self.log_dir

    def _get_file_writer(self) -> events.EventFile:
        return self.file

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: int | None = None, walltime: float | None = None,
        new_style: bool = False, double_precision: bool = False,
    ) -> None:  # fmt: skip
        """One number at one step."""
        self.file.add(global_step, events.scalar(tag, float(_array(scalar_value).item())), walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Several curves in one chart: each goes to a folder of its own."""
        for name, value in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, main_tag.replace("/", "_") + "_" + name)
            if folder not in self.others:
                self.others[folder] = events.EventFile(folder, self.suffix)
            number = float(_array(value).item())
            self.others[folder].add(global_step, events.scalar(main_tag, number), walltime)

    def add_histogram(
        self, tag: str, values: Any, global_step: int | None = None, bins: Any = "auto",
        walltime: float | None = None, max_bins: int | None = None,
    ) -> None:  # fmt: skip
        """The distribution of many numbers."""
        a = _array(values)
        if a.size == 0:
            raise ValueError("The input has no element.")
        edges = 64 if bins in ("auto", "tensorflow", "fd") else bins
        self.file.add(global_step, events.histogram(tag, a, edges, max_bins), walltime)

    def add_image(
        self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:  # fmt: skip
        """One picture, float in [0, 1] or uint8."""
        a = _to_hwc(_array(img_tensor), dataformats)
        if a.dtype != np.uint8:
            a = (a * 255.0).clip(0, 255).astype(np.uint8)
        height, width, channels = a.shape
        self.file.add(global_step, events.image(tag, png.encode(a), height, width, channels), walltime)

    def add_images(
        self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:  # fmt: skip
        """A batch of pictures, side by side."""
        a = np.moveaxis(_array(img_tensor), dataformats.index("N"), 0)
        rest = dataformats.replace("N", "")
        self.add_image(tag, np.concatenate([_to_hwc(x, rest) for x in a], axis=1), global_step, walltime, "HWC")

    def add_figure(
        self, tag: str, figure: Any, global_step: int | None = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """A matplotlib figure."""
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png")
        width, height = (int(v) for v in figure.get_size_inches() * figure.dpi)
        self.file.add(global_step, events.image(tag, buffer.getvalue(), height, width, 4), walltime)
        if close:
            import matplotlib.pyplot as plt

            plt.close(figure)

    def add_text(
        self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """A piece of Markdown."""
        self.file.add(global_step, events.text(tag, str(text_string)), walltime)

    def add_hparams(
        self, hparam_dict: dict[str, Any], metric_dict: dict[str, Any], hparam_domain_discrete: Any = None,
        run_name: str | None = None, global_step: int | None = None,
    ) -> None:  # fmt: skip
        """Settings and results of a run, for the table that compares runs; in a folder of its own below."""
        if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        plain = {k: v.item() if isinstance(v, Tensor) else v for k, v in hparam_dict.items()}
        made = plugins.hparams(plain, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self.log_dir, str(time.time()) if run_name is None else run_name)
        with SummaryWriter(folder) as own:
            for summary in made:
                own.file.add(None, summary)
            for name, value in metric_dict.items():
                own.add_scalar(name, value, global_step)

    def add_pr_curve(
        self, tag: str, labels: Any, predictions: Any, global_step: int | None = None, num_thresholds: int = 127,
        weights: Any = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Precision and recall of yes-or-no labels and predictions in [0, 1], by threshold."""
        count = min(num_thresholds, 127)  # what TensorBoard draws
        weights = None if weights is None else _array(weights).ravel()
        rows = plugins.pr_counts(_array(labels), _array(predictions), count, weights)
        self.file.add(global_step, plugins.pr_curve(tag, rows, rows.shape[1]), walltime)

    def add_pr_curve_raw(
        self, tag: str, true_positive_counts: Any, false_positive_counts: Any, true_negative_counts: Any,
        false_negative_counts: Any, precision: Any, recall: Any, global_step: int | None = None,
        num_thresholds: int = 127, weights: Any = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """The same, of counts that are known."""
        rows = [true_positive_counts, false_positive_counts, true_negative_counts]
        rows += [false_negative_counts, precision, recall]
        self.file.add(
            global_step, plugins.pr_curve(tag, np.stack([*map(_array, rows)]), min(num_thresholds, 127)), walltime
        )

    def add_custom_scalars(self, layout: dict[str, dict[str, list]]) -> None:
        """Which curves are drawn together: {category: {chart: ["Multiline" or "Margin", tags]}}."""
        self.file.add(None, plugins.custom_scalars(layout))

    def add_custom_scalars_multilinechart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """One chart of several curves."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """One chart of a curve and the two that bound it."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_mesh(
        self, tag: str, vertices: Any, colors: Any = None, faces: Any = None, config_dict: dict | None = None,
        global_step: int | None = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Meshes or clouds of points, each argument (batch, number, 3)."""
        given = {"VERTEX": vertices, "FACE": faces, "COLOR": colors}
        parts = {name: _array(v) for name, v in given.items() if v is not None}
        for summary in plugins.mesh(tag, parts, config_dict):
            self.file.add(global_step, summary, walltime)

    def add_embedding(
        self, mat: Any, metadata: Any = None, label_img: Any = None, global_step: int | None = None,
        tag: str = "default", metadata_header: Any = None,
    ) -> None:  # fmt: skip
        """Points (number, features) for the projector, with labels and pictures (number, C, H, W)."""
        points, pictures = _array(mat), None if label_img is None else _array(label_img)
        for name, other in (("labels", metadata), ("images", pictures)):
            if other is not None and len(other) != len(points):
                raise AssertionError(f"#{name} should equal with #data points")
        step = str(global_step or 0).zfill(5)
        where = f"{step}/{quote(tag, safe='')}"
        folder = os.path.join(self.log_dir, where)
        os.makedirs(folder, exist_ok=True)
        write_points(folder, points)
        if metadata is not None:
            write_labels(folder, metadata, metadata_header)
        if pictures is not None:
            with open(os.path.join(folder, "sprite.png"), "wb") as f:
                f.write(png.encode(sheet(pictures)))
        entry = description(tag, step, where, metadata is not None, pictures)
        self.projected[where] = entry
        with open(os.path.join(self.log_dir, "projector_config.pbtxt"), "w") as text:
            text.writelines(self.projected.values())

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """The operators of one forward pass, in the modules that call them."""
        from .graphs import graph

        self.file.add_graph(graph(model, input_to_model))
        if verbose:
            print(model)

    def flush(self) -> None:
        """Push what was added to the disk's buffers."""
        self.file.flush()
        for f in self.others.values():
            f.flush()

    def close(self) -> None:
        """Finish the files."""
        self.file.close()
        for f in self.others.values():
            f.close()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()


def _to_hwc(a: np.ndarray, formats: str) -> np.ndarray:
    if len(formats) != a.ndim:
        raise ValueError(
            f"size of input tensor and input format are different. tensor shape: {a.shape}, input_format: {formats}"
        )
    if formats.upper() == "HW":
        return np.repeat(a[:, :, None], 3, axis=2)
    a = a.transpose([formats.upper().index(c) for c in "HWC"])
    return np.repeat(a, 3, axis=2) if a.shape[2] == 1 else a
