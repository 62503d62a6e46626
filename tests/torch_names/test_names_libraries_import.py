"""Inner names that libraries need before anything else of them can run."""

from __future__ import annotations

import datetime
import importlib
from typing import Any

import pytest

import rushlight as rl


def test_inner_operators_are_what_users_call() -> None:
    aten, x = rl.ops.aten, rl.arange(6.0).reshape(2, 3)
    assert aten.add.Tensor(x, 1).tolist() == (x + 1).tolist()
    assert aten.slice.Tensor(x, -1, 1, 3).tolist() == x[:, 1:3].tolist()
    assert aten.index.Tensor(x, [None, rl.tensor([2, 0])]).tolist() == x[:, [2, 0]].tolist()
    assert aten._to_copy.default(x, dtype=rl.int64, device=None).dtype is rl.int64
    assert aten.alias.default(x).data_ptr() == x.data_ptr()
    assert aten.clone.default(x).data_ptr() != x.data_ptr()
    sparse = x.to_sparse()
    assert aten._sparse_addmm(rl.ones(2, 2), sparse, x.T).tolist() == (1 + x @ x.T).tolist()
    assert aten.gelu(x).tolist() == rl.nn.functional.gelu(x).tolist()
    assert aten.linalg_inv(rl.eye(2) * 2).tolist() == [[0.5, 0.0], [0.0, 0.5]]
    assert aten.fft_rfft.default(x).tolist() == rl.fft.rfft(x).tolist()
    assert aten.special_entr(x).tolist() == rl.special.entr(x).tolist()


def test_inner_operators_serve_as_keys() -> None:
    aten = rl.ops.aten
    assert rl.ops.aten is aten and aten.sort.stable is aten.sort.stable
    assert len({aten.sort.stable, aten.sort.default, aten.sort}) == 3
    assert aten.sort.default.__name__ == "sort.default"
    with pytest.raises(AttributeError, match="'aten' object has no attribute 'no_such_thing'"):
        aten.no_such_thing  # noqa: B018
    with pytest.raises(AttributeError):
        aten._names  # noqa: B018
    with pytest.raises(AttributeError):
        aten.add._schema_of_somebody  # noqa: B018


NAMES = [
    "_subclasses.fake_tensor.FakeTensorMode", "distributed.constants.default_pg_nccl_timeout", "quasirandom.SobolEngine",
    "functional.einsum", "autograd.profiler.EventList", "profiler.ProfilerAction", "profiler.kineto_available",
    "amp.grad_scaler.OptState", "_C.PyTorchFileReader", "_C._TensorMeta", "_C._LinAlgError", "_C._parallel_info", "_C._get_cudnn_enabled",
    "distributions.multivariate_normal._precision_to_scale_tril", "distributions.constraints._IndependentConstraint", "cpu.amp.autocast",
    "jit.Error", "jit._script_if_tracing", "jit.annotations.BroadcastingList2", "utils.data.dataloader._InfiniteConstantSampler",
    "_dynamo.utils.is_compile_supported", "_dynamo.exc.RecompileError", "utils._pytree._is_leaf", "_utils._element_size",
    "distributions.multivariate_normal.Distribution", "testing._internal.common_utils.TestCase",
    "distributed.rpc.rpc_async", "optim.adam.Adam", "optim.adamw.AdamW", "optim.sgd.SGD", "optim.rmsprop.RMSprop",
    "fx.experimental.proxy_tensor.make_fx", "utils.data._utils.collate.np_str_obj_array_pattern",
    "fx._symbolic_trace.ScriptObject", "_utils_internal.get_file_path_2", "testing._comparison.TensorLikePair",
    "vision.transforms._functional_tensor._max_value", "vision.transforms.autoaugment._apply_op", "vision.utils._Image_fromarray",
    "vision.transforms.functional.pil_modes_mapping", "vision.transforms.functional._get_inverse_affine_matrix",
    "vision.transforms.v2._utils.is_pure_tensor", "vision.transforms.v2._utils._find_labels_default_heuristic",
    "vision.transforms.v2.functional._utils._get_kernel", "vision.transforms.v2.functional._utils._register_kernel_internal",
    "vision.transforms.v2.functional._meta._xyxy_to_cxcywh", "vision.transforms.v2.functional._geometry._resize_image_pil",
    "vision.transforms.v2.functional._geometry._parallelogram_to_bounding_boxes",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_that_are_only_asked_for(name: str) -> None:
    module, _, last = name.rpartition(".")
    assert hasattr(importlib.import_module(f"rushlight.{module}"), last)


def test_dtypes_without_values_are_only_compared() -> None:
    torch = pytest.importorskip("torch")
    for name in ("complex32", "uint1", "uint4", "uint7"):
        ours, theirs = getattr(rl, name), getattr(torch, name)
        assert (ours.itemsize, ours.is_complex) == (theirs.itemsize, theirs.is_complex)
        assert ours not in (rl.complex64, rl.uint8) and rl.ones(1).dtype != ours
        for make in (lambda d=ours: rl.zeros(2, dtype=d), lambda d=ours: rl.ones(2).to(d)):
            with pytest.raises(NotImplementedError, match=f"{name}.*makes no tensors of it"):
                make()


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 0), (), (40, 40)], ids=str)
def test_text_of_the_numbers_alone(shape: tuple) -> None:
    torch = pytest.importorskip("torch")
    ours = importlib.import_module("rushlight._tensor_str")
    theirs = importlib.import_module("torch._tensor_str")
    for kind in ("float32", "int64", "bool"):
        x, y = [m.ones(shape, dtype=getattr(m, kind)) for m in (rl, torch)]
        assert ours._tensor_str(x, 0) == theirs._tensor_str(y, 0)
    assert ours.PRINT_OPTS.threshold == theirs.PRINT_OPTS.threshold
    with pytest.raises(AttributeError):
        ours.PRINT_OPTS.colour  # noqa: B018


def test_what_is_absent_says_so() -> None:
    fake: Any = importlib.import_module("rushlight._subclasses.fake_tensor")
    proxy: Any = importlib.import_module("rushlight.fx.experimental.proxy_tensor")
    assert not fake.is_fake(rl.ones(1)) and proxy.get_proxy_mode() is None
    assert rl.autograd.profiler.EventList([3, 4], use_device="cpu") == [3, 4]
    with pytest.raises(NotImplementedError, match="NVIDIA"):
        rl.autograd.profiler.emit_nvtx()
    assert not rl.profiler.kineto_available()
    assert not rl.distributed.rpc.is_available()
    with pytest.raises(NotImplementedError, match="calls no functions in other processes"):
        rl.distributed.rpc.init_rpc("one")
    assert rl.distributed.constants.default_pg_timeout == datetime.timedelta(minutes=30)


def test_iterators_take_loaders_of_others() -> None:
    """fastai hands PyTorch's iterators an object with PyTorch's attributes and no more."""

    class Loader:
        _IterableDataset_len_called, _auto_collation, drop_last, in_order = None, False, False, True
        generator, prefetch_factor, pin_memory, pin_memory_device = None, 2, False, ""
        num_workers, timeout, persistent_workers, multiprocessing_context = 0, 0, False, None
        worker_init_fn, _index_sampler = None, range(10)
        dataset_kind = _dataset_kind = rl.utils.data.dataloader._DatasetKind.Iterable

        def __init__(self) -> None:
            self.dataset, self.collate_fn = self, lambda x: x

        def __iter__(self) -> Any:
            return iter([rl.ones(2), rl.zeros(2)])

    it = rl.utils.data.dataloader._SingleProcessDataLoaderIter(Loader())
    assert next(it).tolist() == [1, 1] and next(it).tolist() == [0, 0]
    with pytest.raises(StopIteration):
        next(it)
