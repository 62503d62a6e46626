"""Modules that only name again what lies elsewhere: PyTorch's longer, older and inner paths, one row each."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NamedTuple

from ..base.spelling import FINER

PACKAGE = __name__.split(".")[0]

_FSDP = (
    "BackwardPrefetch CPUOffload FullOptimStateDictConfig FullStateDictConfig LocalOptimStateDictConfig "
    "LocalStateDictConfig MixedPrecision OptimStateDictConfig ShardedOptimStateDictConfig ShardedStateDictConfig "
    "ShardingStrategy StateDictConfig StateDictSettings StateDictType"
)
_SPREAD = "DTensor distribute_module distribute_tensor empty full ones rand randn zeros"
# By module: where its names are. `there=here` gives one another name.
TABLE = {
    "_dynamo.eval_frame": "nn.modules.optimized: OptimizedModule",
    "_dynamo.utils": "_dynamo: is_dynamo_supported=is_compile_supported",
    "_functorch.apis": "func: grad grad_and_value vmap",
    "_functorch.eager_transforms": "func: grad grad_and_value hessian jacfwd jacrev jvp linearize vjp",
    "_functorch.functional_call": "func: functional_call stack_module_state",
    "_higher_order_ops.associative_scan": "_control_flow: associative_scan",
    "_higher_order_ops.cond": "_control_flow: cond",
    "_higher_order_ops.map": "_control_flow: map",
    "_higher_order_ops.scan": "_control_flow: scan",
    "_higher_order_ops.while_loop": "_control_flow: while_loop",
    "_ops": "_aten.overloads: OpOverload OpOverloadPacket; ops: _OpNamespace",
    "_tensor": "core.tensor: Tensor",
    "_vmap_internals": "func: vmap",
    "amp.autocast_mode": "amp.autocast: _cast_tree=_cast autocast custom_bwd custom_fwd is_autocast_available",
    "autograd.anomaly_mode": "core.modes: detect_anomaly set_detect_anomaly",
    "autograd.profiler_legacy": "profiler: profile",
    "autograd.profiler_util": "profiler.events: DeviceType EventList FunctionEvent FunctionEventAvg Interval Kernel",
    "backends.cpu": "runtime.cpu.engine: capability=get_cpu_capability engine_info",
    "backends.mkl": "backends._absent: is_available is_built",
    "cuda.random": "cuda: get_rng_state get_rng_state_all initial_seed manual_seed manual_seed_all seed seed_all "
                   "set_rng_state set_rng_state_all",
    "distributed._composable.fsdp": "nn.parallel.fully_shard: CPUOffloadPolicy FSDPModule MixedPrecisionPolicy "
                                    "OffloadPolicy fully_shard",
    "distributed._tensor.api": f"distributed.tensor: {_SPREAD}",
    "distributed._tensor.device_mesh": "distributed.device_mesh: DeviceMesh init_device_mesh",
    "distributed._tensor.experimental": "distributed.tensor.experimental: implicit_replication",
    "distributed.tensor.experimental._attention": "distributed.tensor.experimental.attention: context_parallel "
                                                  "context_parallel_unshard set_rotate_method",
    "distributed.algorithms._checkpoint.checkpoint_wrapper": "utils.checkpoint_wrapper: ActivationWrapper CheckpointImpl "
                                                             "CheckpointWrapper OffloadWrapper apply_activation_checkpointing "
                                                             "checkpoint_wrapper offload_wrapper",
    "distributed.algorithms.model_averaging.averagers": "distributed.averaging: ModelAverager PeriodicModelAverager",
    "distributed.algorithms.model_averaging.hierarchical_model_averager": "distributed.averaging: HierarchicalModelAverager",
    "distributed.algorithms.model_averaging.utils": "distributed.averaging: average_parameters "
                                                    "average_parameters_or_parameter_groups get_params_to_average",
    "distributed.checkpoint.api": "distributed.checkpoint.saving: CheckpointException",
    "distributed.checkpoint.filesystem": "distributed.checkpoint.saving: FileSystemReader FileSystemWriter",
    "distributed.checkpoint.state_dict": "distributed.state_dicts: StateDictOptions get_model_state_dict "
                                         "get_optimizer_state_dict get_state_dict set_model_state_dict "
                                         "init_optim_state=_init_optim_state set_optimizer_state_dict set_state_dict",
    "distributed.checkpoint.state_dict_loader": "distributed.checkpoint.saving: load",
    "distributed.checkpoint.state_dict_saver": "distributed.checkpoint.saving: async_save save",
    "distributed.pipelining.microbatch": "distributed.pipelining.chunks: TensorChunkSpec",
    "distributed.pipelining.stage": "distributed.pipelining.stages: PipelineStage",
    "distributed.fsdp.api": f"nn.parallel.fsdp_options: {_FSDP}",
    "distributed.fsdp.fully_sharded_data_parallel": f"nn.parallel.fsdp: FullyShardedDataParallel; "
                                                    f"nn.parallel.fsdp_options: {_FSDP} OptimStateKeyType",
    "distributed.fsdp.wrap": "nn.parallel.fsdp_wrap: CustomPolicy ModuleWrapPolicy _module_wrap_policy _or_policy "
                             "always_wrap_policy enable_wrap lambda_auto_wrap_policy size_based_auto_wrap_policy "
                             "transformer_auto_wrap_policy wrap",
    "distributed.optim.post_localSGD_optimizer": "distributed.averaging: PostLocalSGDOptimizer",
    "distributed.optim.zero_redundancy_optimizer": "optim.zero: ZeroRedundancyOptimizer",
    "distributed.rendezvous": "distributed.meeting: rendezvous",
    "distributed.tensor._api": f"distributed.tensor: {_SPREAD}",
    "distributed.tensor.debug": "distributed.comm_debug: CommDebugMode visualize_sharding",
    "distributed.tensor.device_mesh": "distributed.device_mesh: DeviceMesh init_device_mesh",
    "distributed.tensor.parallel.api": "distributed.tensor.parallel.plans: parallelize_module",
    "distributed.tensor.parallel.style": "distributed.tensor.parallel.styles: ColwiseParallel ParallelStyle PrepareModuleInput "
                                         "PrepareModuleInputOutput PrepareModuleOutput RowwiseParallel SequenceParallel",
    "nn.parallel.parallel_apply": "nn.parallel.scatter_gather: parallel_apply",
    "nn.parallel.replicate": "nn.parallel.scatter_gather: replicate",
    "vision._internally_replaced_utils": "hub: load_state_dict_from_url",
    "vision.models.mobilenet": "vision.models.mobilenetv2: MobileNetV2 MobileNet_V2_Weights mobilenet_v2; vision.models.mobilenetv3: "
                               "MobileNetV3 MobileNet_V3_Large_Weights MobileNet_V3_Small_Weights mobilenet_v3_large "
                               "mobilenet_v3_small",
    "vision.ops.ciou_loss": "vision.ops.losses: complete_box_iou_loss",
    "vision.ops.diou_loss": "vision.ops.losses: distance_box_iou_loss",
    "vision.ops.focal_loss": "vision.ops.losses: sigmoid_focal_loss",
    "vision.ops.giou_loss": "vision.ops.losses: generalized_box_iou_loss",
    "vision.transforms.autoaugment": "vision.transforms._auto: AugMix AutoAugment AutoAugmentPolicy RandAugment TrivialAugmentWide "
                                     "apply_op=_apply_op",
    "vision.transforms.v2._utils": "vision.transforms.v2._query: _find_labels_default_heuristic check_type get_bounding_boxes "
                                   "get_keypoints has_all has_any query_chw query_size; vision.transforms.v2.functional: is_pure_tensor",
    "vision.transforms.v2.functional._utils": "vision.transforms.v2.functional._registry: is_pure_tensor kernel_of=_get_kernel "
                                              "register_any=_register_kernel_internal register_kernel",
    "optim.adadelta": "optim.rules_older: Adadelta",
    "optim.adagrad": "optim.rules_older: Adagrad",
    "optim.adam": "optim.rules: Adam",
    "optim.adamax": "optim.rules: Adamax",
    "optim.adamw": "optim.rules: AdamW",
    "optim.asgd": "optim.rules_older: ASGD",
    "optim.nadam": "optim.rules: NAdam",
    "optim.radam": "optim.rules: RAdam",
    "optim.rmsprop": "optim.rules_older: RMSprop",
    "optim.rprop": "optim.rules_older: Rprop",
    "optim.sgd": "optim.rules: SGD",
    "quantization": "ao.quantization: DeQuantStub FakeQuantize FakeQuantizeBase MinMaxObserver ObserverBase QConfig "
                    "QuantStub convert get_default_qconfig prepare prepare_qat quantize_dynamic",
    "utils._foreach_utils": "optim.optimizer: Indices TensorListList _device_has_foreach_support "
                            "_foreach_supported_types _get_foreach_kernels_supported_devices "
                            "_get_fused_kernels_supported_devices _group_tensors_by_device_and_dtype "
                            "_has_foreach_support",
    "utils.data._utils.pin_memory": "data.iterators: pin=pin_memory",
    "utils.data._utils.worker": "data.seeding: numpy_seed=_generate_state; data.worker: WorkerInfo get_worker_info",
    "utils.data.datapipes.iter.combinatorics": "utils.data.datapipes.iter: Shuffler=ShufflerIterDataPipe",
    "utils.data.dataset": "data.combine: StackDataset Subset random_split; "
                          "data.dataset: ChainDataset ConcatDataset Dataset IterableDataset TensorDataset",
    "utils.data.distributed": "data.distributed: DistributedSampler",
    "utils.data.sampler": "data.sampler: BatchSampler RandomSampler Sampler SequentialSampler SubsetRandomSampler "
                          "WeightedRandomSampler",
    "utils.dlpack": "operators.memory.interop: from_dlpack to_dlpack",
    "utils.model_zoo": "hub: load_state_dict_from_url=load_url",
    **{
        f"{home.rpartition('.')[0]}.{path}": f"{home}: {' '.join(names)}"
        for home, modules in FINER.items() for path, names in modules
    },
}  # fmt: skip


class Name(NamedTuple):
    """One name of such a module."""

    here: str
    home: str  # the module that has it
    there: str  # what it is called in that one


def names(module: str) -> list[Name]:
    """The names of one row of the table."""
    found = []
    for part in TABLE[module].split("; "):
        home, _, words = part.partition(": ")
        pairs = [word.partition("=") for word in words.split()]
        found += [Name(here or there, f"{PACKAGE}.{home}", there) for there, _, here in pairs]
    return found


def stub(module: str) -> str:
    """What type checkers and editors read of such a module: a wheel has it as a file."""
    lines = [f"from {n.home} import {n.there} as {n.here}\n" for n in names(module)]
    return f'"""Made by setup.py from the table of aliases."""\n\n{"".join(lines)}'


def _borrowed(module: str, homes: list[str], name: str) -> Any:
    """What PyTorch's module has because it imports it, and libraries take from there: the homes import it, too."""
    for home in homes if not name.startswith("__") else ():
        if hasattr(import_module(home), name):
            return getattr(import_module(home), name)
    raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)


class _Loader:
    """Fills a module with its names."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        found = names(module.__name__.partition(".")[2])
        for name in found:
            setattr(module, name.here, getattr(import_module(name.home), name.there))
        homes = sorted({name.home for name in found})
        setattr(module, "__getattr__", partial(_borrowed, module.__name__, homes))
        module.__doc__ = f"Names under one more of PyTorch's paths; they are defined in {', '.join(homes)}."
        setattr(module, "__all__", [name.here for name in found])
        module.__file__ = __file__  # where to look, for those who ask a module for its file


def spec_of(module: str) -> ModuleSpec | None:
    """How a module of the table is loaded; None for others."""
    known = module.partition(".")[2] in TABLE
    return ModuleSpec(module, _Loader()) if known else None  # type: ignore[arg-type]
