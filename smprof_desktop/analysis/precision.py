"""What numbers a kernel computes with, told by its name: rules as data, the first that matches decides.

Libraries write the types of their operands into the names of their kernels, each in its own way; what no rule knows is
unknown, and stays so. Where inputs and sums differ, the inputs count: they decide which units of the GPU do the work.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from smprof_desktop.analysis.names import in_form

UNKNOWN = "unknown"
PRECISIONS = ("FP64", "FP32", "TF32", "FP16", "BF16", "FP8", "FP4", "INT64", "INT32", "INT16", "INT8", UNKNOWN)
"""In the order of their width; kernels without a rule come last."""
MAX_NAME = 4_000
"""Characters of a name that are looked at: types stand in front."""


@dataclass(frozen=True)
class Rule:
    """`pattern` is searched in the name; `precision` None: the name tells that nothing can be told of it.

    `words`: one of them stands in every name that the pattern is found in. They are looked for first: a pattern takes
    50 µs to find nothing in a name of 500 characters, a word 0.1.
    """

    family: str
    pattern: str
    precision: str | None
    words: tuple[str, ...] = ()


_EDGE, _END = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"
"""Where a word of letters and digits begins and ends; an underscore is an edge."""

RULES: tuple[Rule, ...] = (
    # NCCL moves bytes where it does not compute: the type in such names says nothing of what is moved.
    Rule("NCCL", r"^nccl[A-Za-z]*_(SendRecv|AllGather|Broadcast|AllToAll|Gather|Scatter)", None),
    Rule("NCCL", r"^nccl\w*_(bf16|bfloat16|bfloat)(?![0-9a-z])", "BF16"),
    Rule("NCCL", r"^nccl\w*_(f16|half)(?![0-9a-z])", "FP16"),
    Rule("NCCL", r"^nccl\w*_(f8e4m3|f8e5m2)(?![0-9a-z])", "FP8"),
    Rule("NCCL", r"^nccl\w*_(f64|double)(?![0-9a-z])", "FP64"),
    Rule("NCCL", r"^nccl\w*_(f32|float)(?![0-9a-z])", "FP32"),
    Rule("NCCL", r"^nccl\w*_(u64|i64|u?int64_t)(?![0-9a-z])", "INT64"),
    Rule("NCCL", r"^nccl\w*_(u32|i32|u?int32_t)(?![0-9a-z])", "INT32"),
    Rule("NCCL", r"^nccl\w*_(u8|i8|u?int8_t)(?![0-9a-z])", "INT8"),
    Rule("NCCL", r"^nccl", None),
    # cuBLAS from CUDA 12 on: the first letters are the types of the inputs.
    Rule("cuBLAS", r"^nvjet_(sm\d+_)?oo", "FP4"),
    Rule("cuBLAS", r"^nvjet_(sm\d+_)?q", "FP8"),
    Rule("cuBLAS", r"^nvjet_(sm\d+_)?t", "BF16"),
    Rule("cuBLAS", r"^nvjet_(sm\d+_)?h", "FP16"),
    Rule("cuBLAS", r"^nvjet_(sm\d+_)?d", "FP64"),
    Rule("cuBLAS", r"^nvjet_", None),
    # Tensile of ROCm: types stand behind the indices of the contraction.
    Rule("Tensile", r"^C[ijkl]+_A[a-z]+_B[a-z]+_(F8|B8)", "FP8"),
    Rule("Tensile", r"^C[ijkl]+_A[a-z]+_B[a-z]+_B", "BF16"),
    Rule("Tensile", r"^C[ijkl]+_A[a-z]+_B[a-z]+_H", "FP16"),
    Rule("Tensile", r"^C[ijkl]+_A[a-z]+_B[a-z]+_(S_?X|X)", "TF32"),
    Rule("Tensile", r"^C[ijkl]+_A[a-z]+_B[a-z]+_[SC]", "FP32"),
    Rule("Tensile", r"^C[ijkl]+_A[a-z]+_B[a-z]+_[DZ]", "FP64"),
    Rule("Tensile", r"^C[ijkl]+_A[a-z]+_B[a-z]+_I", "INT8"),
    # Types that stand as words between underscores: CUTLASS, xmma, cuDNN, Triton, FlashAttention, XLA.
    Rule("any", rf"{_EDGE}(nvfp4|mxfp4|fp4|e2m1)", "FP4", ("fp4", "e2m1")),
    Rule("any", rf"(e4m3|e5m2|{_EDGE}(fp8|f8){_END}|[Ff]loat8|fp8_)", "FP8", ("e4m3", "e5m2", "fp8", "f8", "loat8")),
    Rule("CUTLASS, xmma", r"(?<!b)tf32", "TF32", ("tf32",)),
    Rule("CUTLASS, xmma", r"(gemm|xmma|cutlass|cudnn|conv|wgrad|dgrad|fprop|tensorop)\w*?bf16", "BF16", ("bf16",)),
    Rule("CUTLASS, xmma", r"bf16_[shdi]\d*(gemm|cudnn|fprop|dgrad|wgrad)", "BF16"),
    Rule(
        "CUTLASS, xmma",
        r"(gemm|xmma|cutlass|cudnn|conv|wgrad|dgrad|fprop|tensorop)\w*?(?<![tb])f(p?)16",
        "FP16",
        ("f16", "fp16"),
    ),
    Rule("CUTLASS, xmma", r"f(p?)16_[shdi]\d*(gemm|cudnn|fprop|dgrad|wgrad)", "FP16"),
    Rule(
        "cuBLAS, cuDNN",
        r"(?<![a-z])h(884|1688|16816)?(gemm|gemv|cudnn|fprop|dgrad|wgrad)",
        "FP16",
        ("gemm", "gemv", "cudnn", "fprop", "dgrad", "wgrad"),
    ),
    Rule("CUTLASS", r"tensorop_s1688(gemm|fprop|dgrad|wgrad)", "TF32"),
    Rule(
        "cuBLAS, CUTLASS",
        r"(?<![a-z])i(8816|16832|16864)?(gemm|cudnn|fprop)|i8816|i16832|_s8_",
        "INT8",
        ("gemm", "cudnn", "fprop", "i8816", "i16832", "_s8_"),
    ),
    Rule("any", rf"{_EDGE}int8{_END}", "INT8", ("int8",)),
    Rule("cuBLAS, cuDNN", r"(?<![a-z])[dz](884)?(gemm|gemv|cudnn)", "FP64", ("gemm", "gemv", "cudnn")),
    Rule("cuBLAS, cuDNN", r"(?<![a-z])(gc|[sc])(gemm|gemv|cudnn)", "FP32", ("gemm", "gemv", "cudnn")),
    Rule("xmma", r"xmma\w*_i8", "INT8"),
    Rule("xmma", r"xmma\w*_f64", "FP64"),
    Rule("xmma", r"xmma\w*_f32f32", "FP32"),
    # Types as C++ writes them, of templates and parameters.
    Rule("C++", rf"BFloat16|bfloat16|{_EDGE}bf16{_END}", "BF16", ("loat16", "bf16")),
    Rule(
        "C++",
        rf"c10::Half|{_EDGE}half(_t|2)?{_END}|__half|[Ff]loat16|{_EDGE}f(p?)16{_END}",
        "FP16",
        ("alf", "loat16", "f16", "fp16"),
    ),
    Rule("C++", rf"{_EDGE}(double[24]?|f(p?)64){_END}", "FP64", ("double", "f64", "fp64")),
    Rule("C++", rf"{_EDGE}(float[24]?|f(p?)32){_END}", "FP32", ("float", "f32", "fp32")),
    Rule("PyTorch", "OpaqueType", None),  # moved, not computed with
    Rule("C++", rf"{_EDGE}(signed char|u?int8_t|unsigned char){_END}(?! ?\*)", "INT8", ("char", "int8_t")),
    Rule("C++", r"[<(,] ?(unsigned )?(long|u?int64_t)( long)?[,>]", "INT64", ("long", "int64_t")),
    Rule("C++", r"[<,] ?(unsigned )?(int|u?int32_t)>", "INT32", ("int",)),
)

_PARAMETERS = re.compile(r"(c10|std)::optional<double>|cudnnTensorStruct|cudnn::\w+::kernel_params")
"""Types that tell what a kernel is told, not what it computes with."""
_SEARCHES = tuple(
    # `search` would look for the beginning of the name at each of its characters.
    (
        frozenset(rule.words),
        re.compile(rule.pattern).match if rule.pattern.startswith("^") else re.compile(rule.pattern).search,
        rule.precision,
    )
    for rule in RULES
)
_WORDS = sorted({word for rule in RULES for word in rule.words})

_TENSOR = re.compile(
    r"tensorop|[shdi](884|1688|8816|16816|16832|16864)|xmma_(?!.*simt)|^nvjet|wgmma|gmma|hmma|imma|mma_|"
    r"flash_(fwd|bwd)|flash_attn|_MI\d+x\d+|cudnn_generated_fort_native_sdpa|fmha_"
)
_NO_TENSOR = re.compile(r"simt|(?<![a-z])(gc|[sdcz])(gemm|gemv|cudnn)|implicit_convolve_sgemm|explicit_convolve_sgemm")


@lru_cache(maxsize=100_000)
def precision(name: str) -> str | None:
    """The precision that a kernel's name tells, one of PRECISIONS but `unknown`; None where it tells none."""
    text = _without_parameters(in_form(name[:MAX_NAME], "demangled") if name.startswith("_Z") else name[:MAX_NAME])
    present = {word for word in _WORDS if word in text}
    for words, find, found in _SEARCHES:
        if not (words and words.isdisjoint(present)) and find(text):
            return found
    return None


@lru_cache(maxsize=100_000)
def uses_tensor_cores(name: str) -> bool | None:
    """Whether a kernel's name tells that it uses the matrix units of its GPU; None where it tells neither."""
    text = name[:MAX_NAME]
    if _TENSOR.search(text):
        return True
    return False if _NO_TENSOR.search(text) else None


def _without_parameters(text: str) -> str:
    return _PARAMETERS.sub("", text) if "optional" in text or "cudnn" in text else text
