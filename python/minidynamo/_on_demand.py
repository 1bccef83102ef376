"""Names of torch's own namespace that are loaded when they are asked for: most programs need none of them."""

from importlib import import_module

HOMES = {
    "_determinism": """
        use_deterministic_algorithms are_deterministic_algorithms_enabled get_deterministic_debug_mode
        is_deterministic_algorithms_warn_only_enabled set_deterministic_debug_mode is_warn_always_enabled
        set_warn_always get_device_module
    """,
    "_tensor_types": "OutOfMemoryError AcceleratorError set_default_tensor_type typename",
    "amp.autocast_mode": """
        autocast is_autocast_enabled set_autocast_enabled get_autocast_dtype set_autocast_dtype
        is_autocast_cache_enabled set_autocast_cache_enabled clear_autocast_cache autocast_increment_nesting
        autocast_decrement_nesting
    """,
    "amp.older_names": """
        is_autocast_cpu_enabled set_autocast_cpu_enabled get_autocast_cpu_dtype set_autocast_cpu_dtype
        get_autocast_gpu_dtype set_autocast_gpu_dtype
    """,
    "amp.grad_scaler": "GradScaler",
    "linalg.older_names": """
        cholesky cholesky_inverse cholesky_solve det geqrf inverse logdet lu lu_solve matrix_exp matrix_power orgqr
        ormqr pinverse qr slogdet svd triangular_solve
    """,
    "linalg.functions": "lu_unpack frobenius_norm nuclear_norm norm_except_dim",
    "linalg.low_rank": "svd_lowrank pca_lowrank lobpcg",
    "functional": "broadcast_shapes",
    "random_counts": "poisson binomial",
    "_more_checks": """
        _check_type _check_value _check_index _check_not_implemented _check_with _check_tensor_all
        _check_tensor_all_with _assert_async
    """,
    "nn.functional": "pdist",
    "scatter_functions": "as_strided_scatter slice_scatter select_scatter diagonal_scatter index_reduce",
    "older_functions": "range",
    "fx.experimental.symbolic_shapes": "SymInt SymFloat SymBool",
    "streams": "Stream Event",
    "copied_views": """
        alias_copy as_strided_copy detach_copy diagonal_copy expand_copy permute_copy select_copy slice_copy split_copy
        split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy unfold_copy unsqueeze_copy
        view_as_complex_copy view_as_real_copy view_copy
    """,
    "histograms": "histogram histogramdd",
    "layer_functions": """
        affine_grid_generator alpha_dropout alpha_dropout_ binary_cross_entropy_with_logits conv_tbc conv_transpose3d
        convolution cosine_embedding_loss ctc_loss dropout_ embedding_bag embedding_renorm_ feature_alpha_dropout
        feature_alpha_dropout_ feature_dropout feature_dropout_ grid_sampler grid_sampler_2d grid_sampler_3d gru
        gru_cell
        hinge_embedding_loss instance_norm kl_div lstm lstm_cell margin_ranking_loss native_batch_norm native_dropout
        native_group_norm native_layer_norm poisson_nll_loss rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell rrelu rrelu_
        triplet_margin_loss
    """,
    "numerical_functions": """
        frexp nonzero_static cov corrcoef cumulative_trapezoid combinations vander isin gradient
    """,
    "func": "vmap",
    "special": "polygamma",
    "shape_functions": """
        empty_permuted is_inference
        unsafe_chunk unsafe_split unsafe_split_with_sizes
        split_with_sizes narrow_copy constant_pad_nd unravel_index scalar_tensor is_signed is_nonzero is_same_size
        get_device
    """,
    "real_tensors": "resolve_conj resolve_neg is_conj is_neg adjoint _neg_view",
    "processor_settings": "get_num_interop_threads set_num_interop_threads set_flush_denormal",
    "spectrograms": "stft istft",
    "signal_windows": "hann_window hamming_window blackman_window bartlett_window kaiser_window",
    "storage": "UntypedStorage TypedStorage is_storage",
    "sparse": "sparse_coo_tensor spmm smm",
    "sparse.coo": "sparse_coo",
    "sparse.compressed": """
        sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor sparse_compressed_tensor sparse_csr
        sparse_csc sparse_bsr sparse_bsc
    """,
    "nested.jagged": "jagged",
    "quantized_tensors": """
        quantize_per_tensor quantize_per_tensor_dynamic quantize_per_channel dequantize empty_quantized qscheme
        per_tensor_affine per_tensor_symmetric per_channel_affine per_channel_symmetric
        per_channel_affine_float_qparams _make_per_tensor_quantized_tensor _make_per_channel_quantized_tensor
    """,
    "fake_quantization": "fake_quantize_per_tensor_affine fake_quantize_per_channel_affine",
    "_higher_order_ops": "while_loop",
    "backends._matmul": "set_float32_matmul_precision get_float32_matmul_precision",
}
TENSOR_TYPES = "BFloat16 Bool Byte Char Double Float Half Int Long Short".split()
_home_of = {name: home for home, names in HOMES.items() for name in names.split()}


def home_of(name):
    """The module a function of torch's namespace is loaded from; None for others."""
    return _home_of.get(name)


def find(name, missing):
    """What torch calls `name`, kept in the namespace from then on; `missing` if that is not one of these."""
    if name in _home_of:
        found = getattr(import_module("." + _home_of[name], __package__), name)
    elif name.startswith("_foreach_"):
        found = getattr(import_module(".foreach_functions", __package__), name, missing)
    elif name.endswith("Tensor") and name.removesuffix("Tensor") in TENSOR_TYPES:
        found = import_module("._tensor_types", __package__).cpu_types[name]
    elif name == "__config__":
        found = import_module(".__config__", __package__)
    else:
        return missing
    if found is not missing:
        setattr(import_module(__package__), name, found)
    return found
