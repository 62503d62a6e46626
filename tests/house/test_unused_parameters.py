"""Every parameter of a public function is used, or stands here with the reason why it need not be."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from unused_parameters import unused

REASONS: dict[str, str] = {
    "a hint about speed or memory: results are the same without it": """
torch_names/rushlight/distributed/checkpoint/hf_storage.py: HuggingFaceStorageReader.__init__(thread_count)
torch_names/rushlight/distributed/checkpoint/hf_storage.py: HuggingFaceStorageWriter.__init__(thread_count)
torch_names/rushlight/distributed/checkpoint/hf_storage.py: HuggingFaceStorageWriter.__init__(thread_count_consolidation)
torch_names/rushlight/distributed/comm_debug.py: visualize_sharding(use_rich)
rushlight/autograd/gradcheck.py: gradcheck(fast_mode)
rushlight/autograd/graph.py: save_on_cpu.__init__(device_type)
rushlight/io/pth.py: load(mmap)
rushlight/nn/attention/flex_attention.py: flex_attention(kernel_options)
rushlight/nn/parallel/distributed.py: DistributedDataParallel.__init__(delay_all_reduce_named_params)
rushlight/nn/parallel/distributed.py: DistributedDataParallel.__init__(param_to_hook_all_reduce)
rushlight/nn/parallel/fsdp.py: FullyShardedDataParallel.__init__(backward_prefetch), FullyShardedDataParallel.__init__(forward_prefetch)
rushlight/nn/parallel/fsdp.py: FullyShardedDataParallel.__init__(limit_all_gathers)
rushlight/nn/utils/clip_grad.py: get_total_norm(foreach), clip_grads_with_norm_(foreach)
rushlight/operators/create/legacy.py: type_(non_blocking)
rushlight/operators/layers/batch_norm.py: _torch_batch_norm(cudnn_enabled)
rushlight/operators/layers/group_norm.py: _torch_group_norm(cudnn_enabled)
rushlight/operators/layers/instance_norm.py: _torch_instance_norm(cudnn_enabled)
rushlight/operators/layers/layer_norm.py: _torch_layer_norm(cudnn_enable)
rushlight/operators/loss/linear_cross_entropy.py: linear_cross_entropy(options)
rushlight/operators/memory/interop.py: pin_memory(device), is_pinned(device)
rushlight/operators/pointwise/compare.py: isin(assume_unique)
rushlight/operators/reduce/counting.py: unique(sorted)
rushlight/operators/reduce/sorting.py: sort(stable), topk(sorted)
rushlight/optim/zero.py: ZeroRedundancyOptimizer.__init__(parameters_as_bucket_view)
torch_names/rushlight/backends/cudnn.py: flags(benchmark_limit)
torch_names/rushlight/compiler.py: set_stance.__init__(skip_guard_eval_unsafe)
torch_names/rushlight/cuda/comm.py: broadcast_coalesced(buffer_size), reduce_add_coalesced(buffer_size), scatter(streams)
torch_names/rushlight/cuda/memory.py: memory_summary(abbreviated)
torch_names/rushlight/utils/checkpoint.py: checkpoint(early_stop), set_checkpoint_early_stop(enable)
torch_names/rushlight/utils/tensorboard/writer.py: SummaryWriter.__init__(max_queue), SummaryWriter.__init__(flush_secs)
""",
    "part of a protocol: whoever calls it gives it, and this one has no use for it": """
rushlight/data/collate.py: collate_tensor_fn(collate_fn_map), collate_numpy_scalar_fn(collate_fn_map), collate_float_fn(collate_fn_map)
rushlight/data/collate.py: collate_int_fn(collate_fn_map), collate_str_fn(collate_fn_map)
rushlight/io/names.py: Containers.default_dict(rest)
rushlight/io/rebuild.py: tensor(rest), tensor_of_bytes(hooks), tensor_of_bytes(rest), parameter(rest), parameter_with_state(hooks)
rushlight/nn/attention/flex_attention.py: noop_mask(head), noop_mask(token_q), noop_mask(token_kv)
rushlight/nn/modules/linear.py: Identity.__init__(args), Identity.__init__(kwargs)
rushlight/nn/parallel/fsdp_wrap.py: always_wrap_policy(args), always_wrap_policy(kwargs), lambda_auto_wrap_policy(nonwrapped_numel)
rushlight/nn/utils/prune.py: Identity.compute_mask(t), CustomFromMask.compute_mask(t)
rushlight/operators/memory/interop.py: _reduce_ex(protocol), _array_wrap(context), _array_wrap(scalar)
torch_names/rushlight/fx/interpreter.py: Interpreter.run(enable_io_processing), Interpreter.placeholder(kwargs), Interpreter.get_attr(args)
torch_names/rushlight/fx/interpreter.py: Interpreter.get_attr(kwargs), Interpreter.output(target), Interpreter.output(kwargs)
torch_names/rushlight/fx/interpreter.py: Interpreter.map_nodes_to_values(n), Transformer.placeholder(kwargs)
torch_names/rushlight/fx/node.py: Node.normalized_arguments(args), Node.normalized_arguments(kwargs)
torch_names/rushlight/overrides.py: redispatch_function(types)
rushlight/distributions/transforms.py: AffineTransform.log_abs_det_jacobian(y), CumulativeDistributionTransform.log_abs_det_jacobian(y)
rushlight/distributions/transforms.py: ExpTransform.log_abs_det_jacobian(y), ReshapeTransform.log_abs_det_jacobian(y)
rushlight/distributions/transforms.py: SigmoidTransform.log_abs_det_jacobian(y), SoftplusTransform.log_abs_det_jacobian(y)
rushlight/distributions/transforms.py: TanhTransform.log_abs_det_jacobian(y)
""",
    "PyTorch does nothing with it either": """
rushlight/nn/parallel/distributed.py: DistributedDataParallel.__init__(check_reduction)
rushlight/operators/shape/expand.py: expand(implicit)
rushlight/optim/zero.py: ZeroRedundancyOptimizer.join_hook(kwargs)
torch_names/rushlight/masked/tensors.py: MaskedTensor.__init__(requires_grad)
torch_names/rushlight/utils/tensorboard/writer.py: SummaryWriter.add_pr_curve_raw(weights)
""",
    "there is one thing here to choose from, or none: the answer is the same": """
rushlight/nn/parallel/scatter_gather.py: scatter(dim), gather(dim)
rushlight/operators/memory/query.py: set_flush_denormal(mode)
torch_names/rushlight/accelerator.py: current_accelerator(check_available)
torch_names/rushlight/backends/mps.py: is_macos_or_newer(major), is_macos_or_newer(minor), is_macos13_or_newer(minor)
torch_names/rushlight/compiler.py: list_backends(exclude_tags)
torch_names/rushlight/fx/experimental/symbolic_shapes.py: free_symbols(value)
torch_names/rushlight/fx/operator_schemas.py: normalize_function(arg_types), normalize_function(kwarg_types)
torch_names/rushlight/fx/passes/shape_prop.py: ShapeProp.__init__(fake_mode)
""",
    "done always, whether it is asked for or not": """
rushlight/operators/matrix/compressed.py: sparse_compressed_tensor(check_invariants)
rushlight/operators/matrix/sparse.py: sparse_coo_tensor(check_invariants)
torch_names/rushlight/fx/graph.py: Graph.find_nodes(sort)
torch_names/rushlight/hub.py: load_state_dict_from_url(weights_only)
torch_names/rushlight/utils/checkpoint.py: set_checkpoint_debug_enabled(enabled)
""",
    "how a file is written, of which the reader gets the same": """
rushlight/io/pth.py: save(pickle_module), save(pickle_protocol)
torch_names/rushlight/distributed/checkpoint/saving.py: DefaultLoadPlanner.__init__(flatten_state_dict)
torch_names/rushlight/distributed/checkpoint/saving.py: DefaultLoadPlanner.__init__(flatten_sharded_tensors)
torch_names/rushlight/utils/tensorboard/writer.py: SummaryWriter.add_scalar(new_style), SummaryWriter.add_graph(use_strict_trace)
""",
    "more or less of what is printed": """
torch_names/rushlight/fx/graph.py: Graph.python_code(kwargs)
torch_names/rushlight/fx/graph_module.py: GraphModule.print_readable(kwargs)
torch_names/rushlight/fx/node.py: Node.format_node(maybe_return_typename), Node.format_node(kwargs)
torch_names/rushlight/onnx/exporting.py: export(verbose)
torch_names/rushlight/utils/benchmark.py: Timer.__init__(env)
""",
    "to be mended: it is ignored": """
rushlight/autograd/gradcheck.py: gradcheck(masked)
rushlight/nn/parallel/fsdp.py: FullyShardedDataParallel.__init__(use_orig_params)
rushlight/nn/parallel/fsdp_states.py: FsdpStates.optim_state_dict(optim_state_dict), FsdpStates.optim_state_dict(group)
rushlight/nn/parallel/fsdp_states.py: FsdpStates.optim_state_dict_to_load(is_named_optimizer), FsdpStates.optim_state_dict_to_load(group)
rushlight/nn/parallel/fsdp_states.py: FsdpStates.full_optim_state_dict(optim_input), FsdpStates.full_optim_state_dict(group)
rushlight/nn/parallel/fsdp_states.py: FsdpStates.sharded_optim_state_dict(group), FsdpStates.shard_full_optim_state_dict(optim_input)
rushlight/nn/parallel/fsdp_states.py: FsdpStates.scatter_full_optim_state_dict(optim_input), FsdpStates.rekey_optim_state_dict(optim_input)
torch_names/rushlight/distributed/fsdp/sharded_grad_scaler.py: ShardedGradScaler.__init__(process_group)
torch_names/rushlight/utils/tensorboard/writer.py: SummaryWriter.add_scalar(double_precision)
""",
}


def test_what_is_taken_is_used() -> None:
    known = set()
    for line in "".join(REASONS.values()).split("\n"):
        file, _, names = line.partition(": ")
        known |= {f"{file}: {name}" for name in names.split(", ") if name}
    found = set(unused())
    assert not found - known, "taken and ignored: make it work, raise, or say why here"
    assert not known - found, "used by now, or gone"
