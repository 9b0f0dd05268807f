"""What kernels compute with, by real names of the libraries that people use."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smprof_desktop.analysis.precision import PRECISIONS, RULES, precision, uses_tensor_cores

NATIVE = "void at::native::"
ELEMENTWISE = f"{NATIVE}vectorized_elementwise_kernel<4, at::native::"


@pytest.mark.parametrize(
    ("name", "expected", "tensor"),
    [
        # cuBLAS and cuDNN
        ("volta_sgemm_128x32_nt", "FP32", False),
        ("ampere_sgemm_32x32_sliced1x4_tn", "FP32", False),
        ("ampere_gcgemm_64x64_nt", "FP32", False),
        ("volta_h884gemm_128x64_ldg8_nn", "FP16", True),
        ("turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn", "FP16", True),
        ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_32x6_tn", "BF16", True),
        ("ampere_fp16_s16816gemm_fp16_256x128_ldg8_f2f_stages_64x3_nn", "FP16", True),
        ("volta_dgemm_128x64_nn", "FP64", False),
        ("ampere_d884gemm_64x64_nn", "FP64", True),
        ("turing_int8_i8816gemm_int8_256x128_ldg16_stages_64x3_tn", "INT8", True),
        ("volta_scudnn_128x64_relu_interior_nn_v1", "FP32", False),
        ("nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN", "BF16", True),
        ("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNN", "FP16", True),
        ("nvjet_sm100_qqtst_128x256_128x6_2x1_2cta_v_bz_TNT", "FP8", True),
        (
            "void gemv2T_kernel_val<int, int, __nv_bfloat16, __nv_bfloat16, float, 128, 16, 4, 4, false>()",
            "BF16",
            None,
        ),
        (
            "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_cudnn",
            "TF32",
            True,
        ),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_cublas", "BF16", True),
        ("sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize64x128x64_cublas", "FP16", True),
        ("sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x128_cublas", "FP8", True),
        ("void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, 3, 5, 1, false, true, true>(int)", "FP32", False),
        # CUTLASS
        ("void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1>()", "BF16", True),
        ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_32x6_tn_align4>(Params)", "TF32", True),
        ("void cutlass::Kernel<cutlass_80_tensorop_f16_s16816gemm_f16_128x128_32x5_nn_align8>(Params)", "FP16", True),
        ("void cutlass::Kernel<cutlass_80_simt_sgemm_128x64_8x5_nn_align1>(Params)", "FP32", False),
        # FlashAttention
        (
            "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t>>()",
            "BF16",
            True,
        ),
        ("void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<traits<64, 128, 128, 8, cutlass::half_t>>()", "FP16", True),
        # PyTorch
        (
            f"{ELEMENTWISE}CUDAFunctor_add<float>, std::array<char*, 3ul> >()",
            "FP32",
            None,
        ),
        (
            f"{ELEMENTWISE}BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, MulFunctor<float> > >()",
            "BF16",
            None,
        ),
        (
            f"{ELEMENTWISE}CUDAFunctor_add<c10::Half>, std::array<char*, 3ul> >()",
            "FP16",
            None,
        ),
        (
            f"{ELEMENTWISE}nan_to_num_kernel_cuda(c10::optional<double>)::{{lambda(float)#1}}>()",
            "FP32",
            None,
        ),
        (
            f"{ELEMENTWISE}FillFunctor<int>, at::detail::Array<char*, 1> >()",
            "INT32",
            None,
        ),
        (
            f"{ELEMENTWISE}FillFunctor<long>, at::detail::Array<char*, 1> >()",
            "INT64",
            None,
        ),
        (
            f"{NATIVE}(anonymous namespace)::CatArrayBatchedCopy<at::native::OpaqueType<2u>, unsigned int, 4>()",
            None,
            None,
        ),
        ("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIdEEEEviT0_", "FP64", None),
        # NCCL
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "FP32", None),
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "BF16", None),
        ("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "FP32", None),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", None, None),
        ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", None, None),
        # ROCm
        ("Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT256x128x64_MI16x16x1_SN", "BF16", True),
        ("Cijk_Ailk_Bjlk_HHS_BH_MT128x128x16_SE", "FP16", None),
        ("Cijk_Alik_Bljk_SB_Bias_AS_SAV_UserArgs_MT64x16x32_MI16x16x1_SN", "FP32", True),
        # Triton and XLA say nothing of types, unless a name was chosen so
        ("triton_poi_fused_add_mul_3", None, None),
        ("loop_add_fusion_12", None, None),
        ("matmul_kernel_fp8", "FP8", None),
        ("my_kernel", None, None),
        ("", None, None),
    ],
)
def test_real_names(name: str, expected: str | None, tensor: bool | None) -> None:
    assert precision(name) == expected
    assert uses_tensor_cores(name) is tensor


def test_every_rule_is_of_a_known_precision_and_compiles() -> None:
    assert {rule.precision for rule in RULES} - {None} <= set(PRECISIONS)
    assert all(re.compile(rule.pattern) for rule in RULES)


def test_a_name_of_a_million_letters_takes_no_time_to_speak_of() -> None:
    assert precision("x" * 1_000_000 + "float") is None
    assert precision("gemm_" + "a_" * 500_000) is None


_PARTS = sorted(
    {part for rule in RULES for part in re.findall(r"[A-Za-z]+|\d+|[<>(),_]", rule.pattern)}
    | {"b", "t", "f", "p", "u", " ", "*", "::", "int", "char", "unsigned", "signed", "half", "Half", "Float", "BFloat"}
)


@given(st.lists(st.sampled_from(_PARTS), max_size=12).map("".join))
@settings(max_examples=2_000)
def test_words_are_looked_for_without_changing_what_a_rule_finds(name: str) -> None:
    for rule in RULES:
        if rule.words and re.search(rule.pattern, name):
            assert any(word in name for word in rule.words), rule.pattern
    slow = next((rule.precision for rule in RULES if re.search(rule.pattern, name)), None)
    if not name.startswith("_Z") and "optional" not in name and "cudnn" not in name:
        assert precision(name) == slow
