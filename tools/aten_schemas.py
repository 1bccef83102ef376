"""Records the signatures under which torch knows its operators, which handlers (`__torch_dispatch__`) are shown. Needs
torch and this package; its answer is kept in python/minidynamo/_aten/schemas.txt. Lines that begin with "parts" are of
operators that torch opens into others before it asks.

    PYTHONPATH=python python tools/aten_schemas.py
"""

import json
import pathlib

import torch

WRITTEN = pathlib.Path(__file__).resolve().parents[1] / "python/minidynamo/_aten/schemas.txt"
# Operators that are no op of the table here: some stand for several, others for a part of one.
FURTHER = """
    _to_copy _softmax _log_softmax native_layer_norm native_group_norm native_batch_norm _native_batch_norm_legit
    native_dropout _local_scalar_dense alias _unsafe_view lift_fresh lift lift_fresh_copy zero new_empty_strided
    scalar_tensor embedding linear layer_norm batch_norm group_norm instance_norm dropout mse_loss l1_loss
    smooth_l1_loss huber_loss nll_loss_forward nll_loss cross_entropy_loss binary_cross_entropy
    binary_cross_entropy_with_logits kl_div bilinear rnn_tanh_cell maximum minimum equal is_same_size is_nonzero
    _assert_async sym_size sym_numel sym_stride size stride numel item set_ resize conj real imag
    threshold_backward _softmax_backward_data _log_softmax_backward_data gelu_backward sigmoid_backward tanh_backward
    silu_backward view_copy unsafe_split unsafe_chunk _reshape_alias numpy_T matrix_H adjoint mH swapaxes swapdims
    moveaxis constant_pad_nd pad reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d
    scaled_dot_product_attention _scaled_dot_product_flash_attention_for_cpu _fused_sdp_choice
    copysign fmod floor_divide remainder true_divide multiply subtract absolute negative clip concat concatenate
    row_stack arcsin arccos arctan index_put_ _index_put_impl masked_fill fill split_with_sizes unsafe_split_with_sizes
    new_zeros new_ones new_full new_empty empty_like zeros_like full_like rand_like randn_like linalg_vector_norm
    soft_margin_loss hinge_embedding_loss margin_ranking_loss cosine_embedding_loss triplet_margin_loss
    multi_margin_loss multilabel_margin_loss poisson_nll_loss ctc_loss
    embedding_bag grid_sampler grid_sampler_2d grid_sampler_3d affine_grid_generator gru_cell lstm_cell rnn_relu_cell
    frexp nonzero_static as_strided_scatter select_scatter slice_scatter diagonal_scatter renorm isin rrelu
    fake_quantize_per_tensor_affine fake_quantize_per_channel_affine cosine_similarity pairwise_distance
    conv_transpose3d expand_copy permute_copy select_copy slice_copy unsqueeze_copy squeeze_copy transpose_copy t_copy
    max_pool2d_with_indices _adaptive_avg_pool2d upsample_nearest2d upsample_bilinear2d avg_pool2d is_pinned
    slice_scatter select_scatter diagonal_scatter index_reduce isin poisson renorm cholesky_solve is_same_size polygamma
    grid_sampler_2d grid_sampler_3d affine_grid_generator multi_margin_loss _trilinear _pdist_forward
    adaptive_max_pool2d adaptive_max_pool3d diagonal_copy __lshift__ __rshift__
    t_ unsqueeze_ squeeze_ transpose_ swapaxes_
    log_sigmoid_forward _prelu_kernel nll_loss2d_forward soft_margin_loss _cdist_forward linalg_cross
    reflection_pad3d replication_pad3d upsample_nearest1d upsample_nearest3d upsample_linear1d upsample_bicubic2d
    upsample_trilinear3d
    gelu_backward silu_backward elu_backward leaky_relu_backward rrelu_with_noise_backward hardtanh_backward
    log_sigmoid_backward softplus_backward glu_backward hardshrink_backward hardswish_backward mish_backward
    softshrink_backward mse_loss_backward smooth_l1_loss_backward huber_loss_backward soft_margin_loss_backward
    binary_cross_entropy_backward multi_margin_loss_backward nll_loss_backward nll_loss2d_backward
    _prelu_kernel_backward _cdist_backward _pdist_backward convolution_backward native_layer_norm_backward
    native_group_norm_backward native_batch_norm_backward embedding_dense_backward grid_sampler_2d_backward
    diagonal_backward select_backward slice_backward unfold_backward max_pool2d_with_indices_backward
    max_pool3d_with_indices_backward avg_pool2d_backward avg_pool3d_backward _adaptive_avg_pool2d_backward
    _adaptive_avg_pool3d_backward _adaptive_avg_pool3d adaptive_max_pool2d_backward adaptive_max_pool3d_backward
    reflection_pad1d_backward reflection_pad2d_backward reflection_pad3d_backward replication_pad1d_backward
    replication_pad2d_backward replication_pad3d_backward upsample_nearest1d_backward upsample_nearest2d_backward
    upsample_nearest3d_backward upsample_linear1d_backward upsample_bilinear2d_backward upsample_bicubic2d_backward
    upsample_trilinear3d_backward _upsample_nearest_exact1d_backward _upsample_nearest_exact2d_backward
    _upsample_nearest_exact3d_backward _upsample_bilinear2d_aa_backward _upsample_bicubic2d_aa_backward
    _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d _upsample_bilinear2d_aa
    _upsample_bicubic2d_aa elu_ hardtanh_ leaky_relu_ silu_ mish_ hardswish_ hardsigmoid_ celu_ selu_ relu6_ threshold_
    _unique2 unique_consecutive _linalg_check_errors _linalg_det _linalg_slogdet _linalg_solve_ex _linalg_eigh
    _linalg_svd linalg_lu linalg_pinv
    fake_quantize_per_tensor_affine_cachemask max_unpool2d max_unpool3d conv_tbc multilabel_margin_loss_forward
    narrow_copy histogram special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_entr
    special_erfcx special_i0e special_i1 special_i1e special_log_ndtr special_ndtr special_ndtri special_xlog1py
    special_zeta triangular_solve geqrf ormqr quantize_per_tensor
    resolve_conj resolve_neg _conj allclose _fft_c2c _fft_r2c _fft_c2r view_as_real view_as_complex complex polar
    slice_backward select_backward sgn mse_loss_backward convolution_backward native_layer_norm_backward
    native_batch_norm_backward _scaled_dot_product_flash_attention_for_cpu_backward nll_loss_backward
    nll_loss2d_backward avg_pool2d_backward native_group_norm_backward max_pool2d_with_indices_backward
    log_sigmoid_backward embedding_dense_backward elu_backward diagonal_backward _adaptive_avg_pool2d_backward
    upsample_nearest2d_backward logit_backward hardtanh_backward avg_pool3d_backward adaptive_max_pool2d_backward
    adaptive_max_pool3d_backward _prelu_kernel_backward _cdist_backward upsample_linear1d_backward
    upsample_nearest1d_backward upsample_nearest3d_backward upsample_trilinear3d_backward upsample_bilinear2d_backward
    upsample_bicubic2d_backward unfold_backward softshrink_backward softplus_backward soft_margin_loss_backward
    silu_backward replication_pad1d_backward replication_pad2d_backward replication_pad3d_backward
    reflection_pad1d_backward reflection_pad2d_backward reflection_pad3d_backward multi_margin_loss_backward
    mish_backward max_pool3d_with_indices_backward leaky_relu_backward hardswish_backward hardsigmoid_backward
    hardshrink_backward grid_sampler_2d_backward grid_sampler_3d_backward glu_backward binary_cross_entropy_backward
    _pdist_backward _adaptive_avg_pool3d_backward smooth_l1_loss_backward huber_loss_backward masked_scatter_backward
""".split()


def rows():
    from minidynamo import _C, foreach_functions

    names = {op["public_name"] for op in json.loads(_C.op_table_json())} | set(FURTHER)
    names |= {name for name in dir(foreach_functions) if name.startswith("_foreach_")}
    for schema in torch._C._jit_get_all_schemas():
        base = schema.name.removeprefix("aten::")
        if base.removesuffix("_") not in names and base not in names:
            continue
        try:
            overload = getattr(getattr(torch.ops.aten, base), schema.overload_name or "default")
            by_parts = torch._C._dispatch_has_kernel_for_dispatch_key(
                overload.name().removesuffix(".default"), "CompositeImplicitAutograd"
            )
        except (AttributeError, RuntimeError):  # of the scripting language only
            continue
        text = str(overload._schema)
        if not text.startswith("aten::") or "Dimname" in text or "out" in (schema.overload_name or "").split("_"):
            continue
        yield ("parts " if by_parts else "") + text.removeprefix("aten::")


if __name__ == "__main__":
    WRITTEN.write_text("".join(f"{row}\n" for row in sorted(set(rows()))))
