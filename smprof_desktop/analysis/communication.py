"""Which kernels communicate, and what they do, told by their names: rules as data, the first that matches decides."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from smprof_desktop.analysis.names import in_form

UNKNOWN = "unknown"
MAX_NAME = 4_000
"""Characters of a name that are looked at."""

OPERATIONS = (
    ("all-reduce", "allreduce"),
    ("all-gather", "allgather"),
    ("reduce-scatter", "reducescatter"),
    ("all-to-all", "alltoall"),
    ("broadcast", "broadcast"),
    ("send/recv", "sendrecv"),
    ("send", "send"),
    ("recv", "recv"),
    ("reduce", "reduce"),
    ("gather", "gather"),
    ("scatter", "scatter"),
    ("barrier", "barrier"),
)
"""How an operation is called, and how its name begins wherever it is recorded: small letters, nothing else."""

MEETINGS = frozenset({"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "barrier"})
"""Operations that no rank can end before every rank has come."""


@dataclass(frozen=True)
class Rule:
    """`pattern` is searched in the name of a kernel; `operation` None: the name itself says which it is."""

    family: str
    pattern: str
    operation: str | None


RULES: tuple[Rule, ...] = (
    Rule("NCCL, RCCL", r"^(?:void )?(?:nccl|rccl|msccl)", None),
    Rule("vLLM", r"\bcross_device_reduce_\dstage", "all-reduce"),
    Rule(
        "PyTorch symmetric memory", r"\b(?:one|two)_shot_all_reduce|\bmultimem_(?:one_shot_)?all_reduce", "all-reduce"
    ),
    Rule("TensorRT-LLM", r"\b(?:one|two)ShotAllReduceKernel|\ballreduce_fusion_kernel", "all-reduce"),
    Rule("DeepEP", r"\bdeep_ep::(?:intranode|internode|internode_ll)::(?:dispatch|combine)", "all-to-all"),
    Rule("NVSHMEM", r"^(?:void )?nvshmem", None),
)
_COMPILED = tuple((re.compile(rule.pattern), rule) for rule in RULES)

_ELEMENT_BYTES = (
    (8, ("double", "long", "int64", "uint64", "float64", "complexfloat")),
    (4, ("float", "int", "int32", "uint32", "float32", "complexhalf")),
    (2, ("half", "bfloat16", "short", "float16", "int16", "uint16")),
    (1, ("char", "byte", "bool", "int8", "uint8")),
)


@lru_cache(maxsize=100_000)
def operation_of(kernel: str) -> str | None:
    """What a kernel of that name communicates: one of OPERATIONS or UNKNOWN. None: it does not communicate."""
    name = in_form(kernel, "demangled")[:MAX_NAME]
    for pattern, rule in _COMPILED:
        if pattern.search(name):
            return rule.operation or _named_in(name)
    return None


def operation_called(text: str) -> str:
    """The operation that a recorded name means: `_allgather_base` and `nccl:all_gather` are all-gather.

    What none of OPERATIONS begins like stays as it is.
    """
    letters = re.sub(r"[^a-z]", "", text.lower().removeprefix("nccl:"))
    return next((operation for operation, start in OPERATIONS if letters.startswith(start)), text)


def bus_factor(operation: str, ranks: int) -> tuple[int, int] | None:
    """Bus ÷ algorithm bandwidth as numerator and denominator, as nccl-tests define it (doc/PERFORMANCE.md there).

    None where it depends on what is not known.
    """
    if operation in ("broadcast", "reduce", "send/recv", "send", "recv"):
        return 1, 1
    if ranks < 1:
        return None
    if operation == "all-reduce":
        return 2 * (ranks - 1), ranks
    if operation in ("all-gather", "reduce-scatter", "all-to-all", "gather", "scatter"):
        return ranks - 1, ranks
    return None


def element_bytes(dtype: str) -> int | None:
    """Bytes of one element of a data type as PyTorch names it; None for one that is not known."""
    word = dtype.lower().removeprefix("c10::").removeprefix("torch.")
    if word.startswith("float8"):
        return 1
    return next((size for size, words in _ELEMENT_BYTES if word in words), None)


def _named_in(kernel: str) -> str:
    """`ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)`, and `ncclAllReduceRingLLKernel_sum_f32` of old."""
    letters = re.sub(r"[^a-z]", "", kernel.split("(")[0].lower())
    found = [(letters.find(start), -len(start), operation) for operation, start in OPERATIONS if start in letters]
    return min(found)[2] if found else UNKNOWN
