"""The kernels of a synthetic run: names in the shape of real ones, made up, with how they are launched."""

from __future__ import annotations

from dataclasses import dataclass

_EPILOGUE = ", ".join(
    f"cutlass::epilogue::threadblock::VisitorAuxStep<{stage}, cutlass::layout::RowMajor, cutlass::bfloat16_t, 128 / "
    f"cutlass::sizeof_bits<cutlass::bfloat16_t>::value>"
    for stage in range(7)
)
CUTLASS_GEMM = (
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8, "
    "cutlass::gemm::GemmShape<256, 128, 32>, cutlass::gemm::GemmShape<64, 64, 32>, cutlass::gemm::GemmShape<16, 8, 16>, "
    f"cutlass::epilogue::threadblock::VisitorTree<{_EPILOGUE}>, "
    "cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<8>, 3, (bool)1, (cutlass::gemm::SharedMemoryClearOption)0>"
    "(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8::Params)"
)
"""Longer than a thousand characters, as the names of CUTLASS kernels are."""

_ELEMENTWISE = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::{functor}, std::array<char*, {arrays}ul>>"
    "(int, at::native::{functor}, std::array<char*, {arrays}ul>)"
)

Grid = tuple[int, int, int]


@dataclass(frozen=True)
class Shape:
    """A kernel's name and launch shape, and how long it takes relative to the others."""

    name: str
    weight: float
    grid: Grid
    block: Grid
    registers: int
    shared_memory_bytes: int
    occupancy_percent: float
    api: str = "cudaLaunchKernel"


def _elementwise(functor: str, arrays: int, weight: float) -> Shape:
    return Shape(_ELEMENTWISE.format(functor=functor, arrays=arrays), weight, (16384, 1, 1), (128, 1, 1), 32, 0, 94.0)


def _gemm(name: str, weight: float, grid: Grid, block: int = 256, shared: int = 147456) -> Shape:
    return Shape(name, weight, grid, (block, 1, 1), 238, shared, 12.0, "cudaLaunchKernelExC")


KERNELS: dict[str, Shape] = {
    "embedding": Shape(
        "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, -2, true>"
        "(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>, long)",
        2.0,
        (1728, 1, 1),
        (128, 1, 1),
        40,
        0,
        75.0,
    ),
    "layer_norm": Shape(
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, false>"
        "(int, float, c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, c10::BFloat16*)",
        1.2,
        (16384, 1, 1),
        (32, 4, 1),
        34,
        24,
        88.0,
    ),
    "qkv": _gemm("ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_64x3_tn", 9.0, (48, 64, 1)),
    "flash": Shape(
        "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t, "
        "Flash_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t>>, true, true, false, false, true, true, false>(Flash_fwd_params)",
        8.0,
        (16, 8, 16),
        (128, 1, 1),
        255,
        65536,
        13.0,
    ),
    "projection": _gemm("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", 3.4, (16, 128, 1), shared=81920),
    "dropout": Shape(
        "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<c10::BFloat16, float, unsigned int, 1, 8, bool>"
        "(at::cuda::detail::TensorInfo<c10::BFloat16 const, unsigned int>, float, at::PhiloxCudaState)",
        1.4,
        (864, 1, 1),
        (256, 1, 1),
        48,
        0,
        62.0,
    ),
    "add": _elementwise("CUDAFunctor_add<c10::BFloat16>", 3, 1.0),
    "fc1": _gemm(CUTLASS_GEMM, 11.5, (64, 64, 1), shared=98304),
    "gelu": _elementwise(
        "GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda(c10::BFloat16)#1}", 2, 2.3
    ),
    "fc2": _gemm("ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_64x3_tn", 11.0, (16, 64, 2)),
    "head": _gemm("ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_64x3_tn", 22.0, (393, 64, 1)),
    "softmax": Shape(
        "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float, float, "
        "at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>(float*, c10::BFloat16 const*, int)",
        5.0,
        (16384, 1, 1),
        (1024, 1, 1),
        40,
        128,
        66.0,
    ),
    "nll": Shape(
        "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>"
        "(float*, float*, float const*, long const*, float const*, bool, long, long, long, long)",
        0.4,
        (1, 1, 1),
        (32, 1, 1),
        28,
        256,
        3.0,
    ),
    "softmax_backward": Shape(
        "void at::native::(anonymous namespace)::cunn_SoftMaxBackward<8, float, float, c10::BFloat16, "
        "at::native::(anonymous namespace)::LogSoftMaxBackwardEpilogue>(c10::BFloat16*, float const*, float const*, unsigned long)",
        6.0,
        (16384, 1, 1),
        (1024, 1, 1),
        40,
        128,
        66.0,
    ),
    "data_gradient": _gemm("ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_64x3_nn", 8.6, (16, 64, 1)),
    "weight_gradient": _gemm("ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_nt", 9.0, (64, 16, 1)),
    "bias_gradient": Shape(
        "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::BFloat16, at::native::func_wrapper_t<c10::BFloat16, "
        "at::native::sum_functor<c10::BFloat16, float, c10::BFloat16>>, unsigned int, c10::BFloat16, 4>>(at::native::ReduceOp)",
        0.8,
        (64, 1, 1),
        (32, 16, 1),
        64,
        2048,
        48.0,
    ),
    "gelu_backward": _elementwise(
        "GeluBackwardCUDAKernelImpl(at::TensorIteratorBase&)::{lambda(c10::BFloat16)#1}", 3, 3.0
    ),
    "dropout_backward": _elementwise(
        "masked_scale_kernel<bool, c10::BFloat16, float>::{lambda(c10::BFloat16, bool)#1}", 3, 1.3
    ),
    "layer_norm_backward": Shape(
        "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float>"
        "(c10::BFloat16 const*, c10::BFloat16 const*, float const*, float const*, c10::BFloat16 const*, c10::BFloat16*, int)",
        1.7,
        (16384, 1, 1),
        (128, 1, 1),
        46,
        32,
        62.0,
    ),
    "gamma_backward": Shape(
        "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel_32x32<c10::BFloat16, float>"
        "(long, long, c10::BFloat16 const*, c10::BFloat16 const*, float const*, float const*, c10::BFloat16*, c10::BFloat16*)",
        0.9,
        (64, 1, 1),
        (32, 32, 1),
        48,
        8448,
        50.0,
    ),
    "flash_dot": Shape(
        "void flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<128, 64, 128, 8, 2, 4, 2, false, false, "
        "cutlass::bfloat16_t>>(Flash_bwd_params)",
        0.9,
        (16, 8, 16),
        (256, 1, 1),
        56,
        0,
        50.0,
    ),
    "flash_backward": Shape(
        "void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 128, 8, 2, 4, 2, false, false, "
        "cutlass::bfloat16_t>, true, true, false, false, true, true, false>(Flash_bwd_params)",
        19.0,
        (16, 8, 16),
        (256, 1, 1),
        255,
        147456,
        12.5,
    ),
    "embedding_backward": Shape(
        "void at::native::(anonymous namespace)::compute_grad_weight<c10::BFloat16, long>"
        "(long const*, c10::BFloat16 const*, long const*, long, long)",
        2.4,
        (512, 1, 1),
        (64, 1, 1),
        36,
        0,
        40.0,
    ),
    "norm": Shape(
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<1>, "
        "at::native::(anonymous namespace)::LpNormFunctor<c10::BFloat16, (at::native::NormType)1, c10::BFloat16, 1, 1, 0>, float*, int>",
        2.2,
        (320, 1, 1),
        (512, 1, 1),
        48,
        4096,
        50.0,
    ),
    "adam": Shape(
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<"
        "at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, "
        "at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>, float const*, double>",
        6.0,
        (320, 1, 1),
        (512, 1, 1),
        64,
        0,
        50.0,
    ),
}
ALL_REDUCE = Shape(
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    1.0, (24, 1, 1), (512, 1, 1), 96, 54528, 25.0, "cudaLaunchKernelExC",
)  # fmt: skip
