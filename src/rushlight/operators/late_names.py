"""Made by tools/stubs.py: modules of ops that `import rushlight` leaves out: what each publishes where, and its kernels."""

# fmt: off
LATE: dict[str, dict[str, str]] = {
    "create.legacy": {"Tensor": "__new__ _make_subclass as_subclass new resize type",
     "torch": "BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor ShortTensor "
     "set_default_tensor_type typename"},
    "create.wrapper": {"Tensor": "_make_wrapper_subclass"},
    "foreach": {"kernels": "foreach_clip foreach_limit foreach_multiply foreach_norms foreach_total_norm foreach_zero",
     "torch": "_foreach_abs _foreach_abs_ _foreach_acos _foreach_acos_ _foreach_add _foreach_add_ _foreach_addcdiv _foreach_addcdiv_ "
     "_foreach_addcmul _foreach_addcmul_ _foreach_asin _foreach_asin_ _foreach_atan _foreach_atan_ _foreach_ceil "
     "_foreach_ceil_ _foreach_clamp_max _foreach_clamp_max_ _foreach_clamp_min _foreach_clamp_min_ _foreach_clone "
     "_foreach_copy_ _foreach_cos _foreach_cos_ _foreach_cosh _foreach_cosh_ _foreach_div _foreach_div_ _foreach_erf "
     "_foreach_erf_ _foreach_erfc _foreach_erfc_ _foreach_exp _foreach_exp_ _foreach_expm1 _foreach_expm1_ _foreach_floor "
     "_foreach_floor_ _foreach_frac _foreach_frac_ _foreach_lerp _foreach_lerp_ _foreach_lgamma _foreach_lgamma_ "
     "_foreach_log _foreach_log10 _foreach_log10_ _foreach_log1p _foreach_log1p_ _foreach_log2 _foreach_log2_ _foreach_log_ "
     "_foreach_max _foreach_maximum _foreach_maximum_ _foreach_minimum _foreach_minimum_ _foreach_mm _foreach_mul "
     "_foreach_mul_ _foreach_neg _foreach_neg_ _foreach_norm _foreach_pow _foreach_pow_ _foreach_powsum _foreach_reciprocal "
     "_foreach_reciprocal_ _foreach_round _foreach_round_ _foreach_rsqrt _foreach_rsqrt_ _foreach_sigmoid _foreach_sigmoid_ "
     "_foreach_sign _foreach_sign_ _foreach_sin _foreach_sin_ _foreach_sinh _foreach_sinh_ _foreach_sqrt _foreach_sqrt_ "
     "_foreach_sub _foreach_sub_ _foreach_tan _foreach_tan_ _foreach_tanh _foreach_tanh_ _foreach_trunc _foreach_trunc_ "
     "_foreach_zero_"},
    "image.fold": {"functional": "channel_shuffle fold native_channel_shuffle pixel_shuffle pixel_unshuffle unfold",
     "kernels": "col2im im2col",
     "torch": "channel_shuffle native_channel_shuffle pixel_shuffle pixel_unshuffle"},
    "image.grid": {"functional": "affine_grid grid_sample",
     "torch": "grid_sampler grid_sampler_2d grid_sampler_3d"},
    "image.grid_kernels": {"kernels": "grid_sample grid_sample_grad_grid grid_sample_grad_input"},
    "image.padding": {"functional": "pad",
     "kernels": "pad_constant",
     "torch": "constant_pad_nd"},
    "image.resample": {"functional": "interpolate upsample upsample_bilinear upsample_nearest"},
    "image.resample_kernels": {"kernels": "resample_axis resample_bytes resample_plane"},
    "index.masked": {"Tensor": "argwhere masked_scatter masked_scatter_ masked_select nonzero nonzero_static put put_ take",
     "functional": "one_hot",
     "kernels": "masked_scatter masked_scatter_grad masked_select masked_select_grad nonzero one_hot",
     "torch": "_unsafe_masked_index _unsafe_masked_index_put_accumulate argwhere masked_scatter masked_select nonzero nonzero_static "
     "put take unravel_index"},
    "index.scatter_reduce": {"Tensor": "index_reduce index_reduce_ scatter_reduce scatter_reduce_",
     "kernels": "scatter_reduce",
     "torch": "index_reduce scatter_reduce"},
    "layers.attention.attention": {"functional": "scaled_dot_product_attention",
     "kernels": "seen_attention seen_attention_grad"},
    "layers.attention.attention_kernels": {"kernels": "attention attention_grad attention_weights"},
    "layers.attention.masked_attention_kernels": {"kernels": "masked_attention masked_attention_grad"},
    "layers.attention.multi_head": {"functional": "multi_head_attention_forward"},
    "layers.batch_norm": {"aten": "_batch_norm_with_update",
     "functional": "batch_norm",
     "kernels": "batch_norm_eval batch_norm_eval_grad batch_norm_grad batch_norm_learn batch_norm_train running_statistics",
     "torch": "_native_batch_norm_legit batch_norm native_batch_norm"},
    "layers.conv": {"functional": "conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d",
     "torch": "conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution"},
    "layers.conv_kernels": {"kernels": "conv conv_grad_input conv_grad_weight conv_grads"},
    "layers.dropout": {"aten": "native_dropout_backward",
     "functional": "alpha_dropout dropout dropout1d dropout2d dropout3d feature_alpha_dropout",
     "kernels": "dropout dropout_grad dropout_mask native_dropout_backward",
     "torch": "alpha_dropout alpha_dropout_ dropout dropout_ feature_alpha_dropout feature_alpha_dropout_ feature_dropout "
     "feature_dropout_ native_dropout"},
    "layers.embedding": {"functional": "embedding",
     "kernels": "embedding embedding_grad",
     "torch": "embedding"},
    "layers.embedding_bag": {"functional": "embedding_bag",
     "kernels": "bag_numbers embedding_bag embedding_bag_rows"},
    "layers.group_norm": {"functional": "group_norm",
     "kernels": "group_norm group_norm_grad",
     "torch": "group_norm native_group_norm"},
    "layers.instance_norm": {"functional": "instance_norm",
     "torch": "instance_norm"},
    "layers.layer_norm": {"functional": "layer_norm rms_norm",
     "kernels": "layer_norm layer_norm_grad rms_norm rms_norm_grad",
     "torch": "layer_norm native_layer_norm rms_norm"},
    "layers.linear": {"functional": "linear",
     "kernels": "linear linear_all_grads linear_grads linear_two_grads"},
    "layers.normalize": {"functional": "local_response_norm normalize"},
    "layers.pool": {"functional": "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool1d_with_indices "
     "adaptive_max_pool2d adaptive_max_pool2d_with_indices adaptive_max_pool3d adaptive_max_pool3d_with_indices avg_pool1d "
     "avg_pool2d avg_pool3d lp_pool1d lp_pool2d lp_pool3d max_pool1d max_pool1d_with_indices max_pool2d "
     "max_pool2d_with_indices max_pool3d max_pool3d_with_indices max_unpool1d max_unpool2d max_unpool3d",
     "torch": "adaptive_avg_pool1d adaptive_max_pool1d avg_pool1d max_pool1d max_pool1d_with_indices max_pool2d max_pool3d"},
    "layers.pool_adaptive": {"kernels": "adaptive_max_pool"},
    "layers.pool_fractional": {"functional": "fractional_max_pool2d fractional_max_pool2d_with_indices fractional_max_pool3d fractional_max_pool3d_with_indices",
     "kernels": "fractional_max_pool"},
    "layers.pool_kernels": {"kernels": "avg_pool avg_pool_grad max_pool max_pool_grad pool_take"},
    "layers.recurrent": {"kernels": "rnn_stack rnn_stack_grad rnn_stack_grad_over rnn_weights rnn_weights_grad",
     "torch": "gru gru_cell lstm lstm_cell rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell"},
    "layers.recurrent_kernels": {"kernels": "gru_sequence gru_sequence_grad lstm_sequence lstm_sequence_grad rnn_sequence rnn_sequence_grad"},
    "layers.softmax": {"Tensor": "log_softmax softmax",
     "aten": "_log_softmax_backward_data _softmax_backward_data",
     "functional": "log_softmax softmax softmin",
     "kernels": "_safe_softmax log_softmax log_softmax_grad softmax softmax_grad",
     "torch": "_safe_softmax log_softmax softmax"},
    "loss.cross_entropy": {"functional": "cross_entropy nll_loss",
     "kernels": "cross_entropy_fused cross_entropy_grad nll_loss nll_loss_grad"},
    "loss.ctc": {"functional": "ctc_loss",
     "kernels": "ctc_loss ctc_loss_grad",
     "torch": "ctc_loss"},
    "loss.difference": {"functional": "binary_cross_entropy binary_cross_entropy_with_logits huber_loss kl_div l1_loss mse_loss smooth_l1_loss",
     "kernels": "binary_cross_entropy binary_cross_entropy_grad binary_cross_entropy_with_logits binary_cross_entropy_with_logits_grad "
     "huber_loss huber_loss_grad l1_loss l1_loss_grad mse_loss mse_loss_grad smooth_l1_loss smooth_l1_loss_grad",
     "torch": "binary_cross_entropy_with_logits kl_div"},
    "loss.distance": {"functional": "cosine_similarity pairwise_distance pdist",
     "kernels": "pair_distances pair_distances_grad",
     "torch": "cdist cosine_similarity pairwise_distance pdist"},
    "loss.linear_cross_entropy": {"functional": "linear_cross_entropy"},
    "loss.margin": {"functional": "cosine_embedding_loss gaussian_nll_loss hinge_embedding_loss margin_ranking_loss multi_margin_loss "
     "multilabel_margin_loss multilabel_soft_margin_loss poisson_nll_loss soft_margin_loss triplet_margin_loss "
     "triplet_margin_with_distance_loss",
     "kernels": "multi_margin_loss multi_margin_loss_grad multilabel_margin_loss multilabel_margin_loss_grad",
     "torch": "cosine_embedding_loss hinge_embedding_loss margin_ranking_loss triplet_margin_loss"},
    "matrix.add_product": {"Tensor": "addbmm addbmm_ addmm addmm_ addmv addmv_ addr addr_ baddbmm baddbmm_",
     "kernels": "addmm baddbmm",
     "torch": "addbmm addmm addmv addr baddbmm"},
    "matrix.compressed": {"Tensor": "to_sparse_csc to_sparse_csr",
     "torch": "_convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo sparse_compressed_tensor sparse_csc_tensor "
     "sparse_csr_tensor"},
    "matrix.einsum": {"torch": "einsum"},
    "matrix.grouped": {"functional": "grouped_mm",
     "torch": "_grouped_mm"},
    "matrix.linalg_determinant": {"Tensor": "det logdet slogdet",
     "kernels": "linalg_det linalg_slogdet",
     "linalg": "det slogdet",
     "return_types": "linalg_slogdet slogdet",
     "torch": "det logdet slogdet"},
    "matrix.linalg_factor": {"Tensor": "cholesky geqrf ormqr qr",
     "kernels": "geqrf linalg_cholesky linalg_lu_factor linalg_qr lu_swap_order",
     "linalg": "cholesky cholesky_ex lu lu_factor lu_solve qr",
     "return_types": "geqrf linalg_cholesky_ex linalg_lu linalg_lu_factor linalg_qr qr",
     "torch": "cholesky geqrf ormqr qr"},
    "matrix.linalg_functions": {"Tensor": "matrix_exp matrix_power",
     "kernels": "linalg_matrix_exp",
     "linalg": "diagonal matmul matrix_exp matrix_power vander vecdot",
     "torch": "matrix_exp matrix_power"},
    "matrix.linalg_norms": {"linalg": "cond matrix_norm norm"},
    "matrix.linalg_older": {"Tensor": "lu lu_solve orgqr triangular_solve",
     "linalg": "householder_product lu_factor_ex solve_ex",
     "return_types": "linalg_lu_factor_ex linalg_solve_ex lu_unpack triangular_solve",
     "torch": "lu lu_solve lu_unpack orgqr triangular_solve"},
    "matrix.linalg_rules": {"linalg": "LinAlgError"},
    "matrix.linalg_solve": {"Tensor": "cholesky_inverse cholesky_solve inverse",
     "kernels": "linalg_cholesky_solve linalg_inv linalg_solve linalg_solve_triangular",
     "linalg": "inv inv_ex solve solve_triangular tensorinv tensorsolve",
     "return_types": "linalg_inv_ex",
     "torch": "cholesky_inverse cholesky_solve inverse"},
    "matrix.linalg_spectrum": {"Tensor": "pinverse svd",
     "kernels": "linalg_eig linalg_eigh linalg_pinv linalg_svd linalg_svdvals",
     "linalg": "eig eigh eigvals eigvalsh lstsq matrix_rank pinv svd svdvals",
     "return_types": "linalg_eig linalg_eigh linalg_lstsq linalg_svd svd",
     "torch": "pinverse svd"},
    "matrix.products": {"Tensor": "cross ger inner kron outer",
     "functional": "bilinear",
     "kernels": "cross",
     "linalg": "cross multi_dot",
     "torch": "bilinear chain_matmul cross ger inner kron outer tensordot"},
    "matrix.sparse": {"Tensor": "_indices _nnz _values ccol_indices coalesce col_indices crow_indices dense_dim indices is_coalesced row_indices "
     "sparse_dim sparse_mask to_dense to_sparse to_sparse_coo values",
     "torch": "dsmm sparse_coo_tensor spmm"},
    "matrix.sparse_kernels": {"kernels": "sparse_meeting"},
    "memory.interop": {"Tensor": "__array_wrap__ __copy__ __cuda_array_interface__ __deepcopy__ __dlpack__ __dlpack_device__ __reduce_ex__ is_pinned "
     "module_load pin_memory record_stream",
     "torch": "from_dlpack to_dlpack"},
    "memory.sharing": {"Tensor": "is_shared share_memory_",
     "torch": "from_file"},
    "pointwise.activation": {"Tensor": "hardshrink prelu relu relu_",
     "functional": "hardshrink hardsigmoid hardswish hardtanh hardtanh_ leaky_relu leaky_relu_ prelu relu relu6 relu_ rrelu rrelu_ "
     "softshrink",
     "kernels": "hardshrink hardshrink_grad hardsigmoid hardsigmoid_grad hardswish hardswish_grad hardtanh hardtanh_grad leaky_relu "
     "leaky_relu_grad prelu prelu_grad relu relu_grad rrelu_noise softshrink softshrink_grad",
     "torch": "hardshrink prelu relu relu_ rrelu rrelu_"},
    "pointwise.activation_smooth": {"functional": "celu celu_ elu elu_ gelu glu gumbel_softmax logsigmoid mish selu selu_ silu softplus softsign tanhshrink",
     "kernels": "elu elu_grad gelu gelu_grad glu glu_grad logsigmoid logsigmoid_grad mish mish_grad silu silu_grad softplus "
     "softplus_grad softsign softsign_grad tanhshrink tanhshrink_grad",
     "torch": "celu celu_ selu selu_"},
    "pointwise.bessel": {"kernels": "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v "
     "chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p "
     "modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 "
     "scaled_modified_bessel_k1 shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v "
     "shifted_chebyshev_polynomial_w spherical_bessel_j0",
     "special": "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v "
     "chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p "
     "modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 "
     "scaled_modified_bessel_k1 shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v "
     "shifted_chebyshev_polynomial_w spherical_bessel_j0"},
    "pointwise.bitwise": {"Tensor": "__and__ __iand__ __ilshift__ __invert__ __ior__ __irshift__ __ixor__ __lshift__ __or__ __rand__ __rlshift__ __ror__ "
     "__rrshift__ __rshift__ __rxor__ __xor__ bitwise_and bitwise_and_ bitwise_left_shift bitwise_left_shift_ bitwise_not "
     "bitwise_not_ bitwise_or bitwise_or_ bitwise_right_shift bitwise_right_shift_ bitwise_xor bitwise_xor_",
     "kernels": "bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor",
     "torch": "bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor"},
    "pointwise.complex": {"Tensor": "H adjoint angle conj conj_physical conj_physical_ imag is_conj is_neg mH real resolve_conj resolve_neg",
     "kernels": "angle complex conj imag real view_as_complex view_as_real",
     "torch": "adjoint angle complex conj conj_physical imag is_complex is_conj is_floating_point is_neg is_signed polar real "
     "resolve_conj resolve_neg view_as_complex view_as_real"},
    "pointwise.pairs": {"Tensor": "arctan2 arctan2_ atan2 atan2_ copysign copysign_ fmax fmin gcd gcd_ heaviside heaviside_ hypot hypot_ lcm lcm_ ldexp "
     "ldexp_ logaddexp logaddexp2 maximum minimum nextafter nextafter_ xlogy xlogy_",
     "kernels": "atan2 copysign fmax fmin gcd heaviside hypot lcm ldexp logaddexp logaddexp2 maximum minimum nextafter xlog1py xlogy",
     "special": "xlog1py xlogy",
     "torch": "arctan2 atan2 copysign fmax fmin gcd heaviside hypot lcm ldexp logaddexp logaddexp2 maximum minimum nextafter xlogy"},
    "pointwise.rounding": {"Tensor": "ceil ceil_ fix fix_ floor floor_ frac frac_ frexp nan_to_num nan_to_num_ round round_ trunc trunc_",
     "kernels": "ceil floor frac frexp nan_to_num round round_decimals trunc",
     "return_types": "frexp",
     "special": "round",
     "torch": "ceil fix floor frac frexp nan_to_num round trunc"},
    "pointwise.select": {"Tensor": "addcdiv addcdiv_ addcmul addcmul_ clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ lerp lerp_ "
     "masked_fill masked_fill_ where",
     "functional": "threshold threshold_",
     "kernels": "addcdiv addcmul clamp clamp_backward lerp masked_fill threshold where",
     "torch": "addcdiv addcmul clamp clamp_max clamp_min clip lerp masked_fill threshold threshold_ where"},
    "pointwise.special": {"Tensor": "digamma digamma_ erf erf_ erfc erfc_ erfinv erfinv_ i0 i0_ igamma igamma_ igammac igammac_ lgamma lgamma_ mvlgamma "
     "mvlgamma_ polygamma polygamma_",
     "kernels": "digamma entr erf erfc erfcx erfinv gammainc gammaincc i0 i0e i1 i1e lgamma log_ndtr ndtr ndtri polygamma zeta",
     "special": "digamma entr erf erfc erfcx erfinv gammainc gammaincc gammaln i0 i0e i1 i1e log_ndtr multigammaln ndtr ndtri polygamma "
     "psi zeta",
     "torch": "digamma erf erfc erfinv i0 igamma igammac lgamma mvlgamma polygamma"},
    "random.gamma_draws": {"kernels": "_dirichlet_grad _sample_dirichlet _standard_gamma _standard_gamma_grad binomial",
     "torch": "_sample_dirichlet _standard_gamma binomial"},
    "random.sampling": {"Tensor": "bernoulli bernoulli_ cauchy_ exponential_ geometric_ log_normal_ multinomial normal_ random_ uniform_",
     "kernels": "bernoulli drawn multinomial poisson",
     "torch": "bernoulli multinomial poisson"},
    "reduce.counting": {"Tensor": "bincount bucketize histc histogram unique unique_consecutive",
     "kernels": "bincount histc histogram histogram_edges searchsorted unique unique_consecutive",
     "return_types": "histogram",
     "torch": "bincount bucketize histc histogram searchsorted unique unique_consecutive"},
    "reduce.differences": {"Tensor": "diff",
     "torch": "cumulative_trapezoid diff gradient trapezoid trapz"},
    "reduce.histogramdd": {"return_types": "histogramdd",
     "torch": "histogramdd"},
    "reduce.quantiles": {"Tensor": "nanquantile quantile",
     "torch": "nanquantile quantile"},
    "reduce.sorting": {"Tensor": "argsort kthvalue msort sort topk",
     "kernels": "kthvalue sort topk",
     "return_types": "kthvalue sort topk",
     "torch": "argsort kthvalue msort sort topk"},
    "reduce.statistics": {"Tensor": "corrcoef cov median mode nanmedian std var",
     "kernels": "median median_dim mode std var",
     "return_types": "median mode nanmedian",
     "torch": "corrcoef cov median mode nanmedian std std_mean var var_mean"},
    "reduce.vector_norm": {"Tensor": "dist norm",
     "kernels": "vector_norm",
     "linalg": "vector_norm",
     "torch": "dist norm"},
    "shape.combine": {"Tensor": "combinations",
     "kernels": "block_diag",
     "torch": "block_diag cartesian_prod combinations meshgrid"},
    "shape.diagonal": {"Tensor": "as_strided_scatter diag diag_embed diagflat diagonal diagonal_scatter fill_diagonal_ select_scatter slice_scatter "
     "trace tril tril_ triu triu_",
     "kernels": "diag_embed diagonal tril triu",
     "torch": "as_strided_scatter diag diag_embed diagflat diagonal diagonal_scatter select_scatter slice_scatter trace tril "
     "tril_indices triu triu_indices"},
    "shape.reshape_inplace": {"Tensor": "as_strided_ squeeze_ swapaxes_ swapdims_ t_ transpose_ unsqueeze_"},
    "shape.view_copies": {"torch": "alias_copy as_strided_copy detach_copy diagonal_copy expand_copy permute_copy select_copy slice_copy split_copy "
     "split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy unfold_copy unsqueeze_copy view_copy"},
    "signal.fft": {"fft": "fft fft2 fftfreq fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft irfft2 irfftn "
     "rfft rfft2 rfftfreq rfftn",
     "kernels": "fft_backward fft_forward fft_real fft_to_real"},
    "signal.stft": {"Tensor": "istft renorm renorm_ stft",
     "torch": "istft renorm stft"},
    "signal.windows": {"kernels": "window_function",
     "torch": "bartlett_window blackman_window hamming_window hann_window kaiser_window"},
    "update": {"kernels": "adadelta_update adafactor_update adagrad_update adam_update adamax_update asgd_update muon_momentum_update muon_update "
     "nadam_update radam_update rmsprop_update rprop_update sgd_update"},
}
