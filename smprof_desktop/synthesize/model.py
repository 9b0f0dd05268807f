"""What the synthetic run trains: the kernels of one micro-batch of a transformer in launch order, and what encloses
them.

One `Unit` is the template of every micro-batch of every rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from smprof_desktop.synthesize.kernels import KERNELS

FORWARD, LOSS, BACKWARD, OPTIMIZER = range(4)
SECTIONS = ("Forward", "Loss", "Backward", "Optimizer")
ANNOTATION_LEVEL = 8
"""Nesting level of the section annotations: outside every operator and module, which count outwards from 1."""


@dataclass(frozen=True)
class Spans:
    """Host slices that enclose launches `first` to `last`, both included. `level` counts outwards: a span of a greater
    level begins earlier.

    `sequence`: number of the autograd node, the same in forward and backward, or -1.
    """

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    level: NDArray[np.int64]
    kind: NDArray[np.uint8]
    name: NDArray[np.int64]
    sequence: NDArray[np.int64]


@dataclass(frozen=True)
class Unit:
    """The template of one micro-batch, in launch order. Names are positions in `names`, shapes keys of `KERNELS`."""

    layers: int
    names: tuple[str, ...]
    shape: tuple[str, ...]
    weight: NDArray[np.float64]
    section: NDArray[np.int64]
    op_span: NDArray[np.int64]
    """The innermost operator of each launch, as a position in `spans`."""
    spans: Spans
    leaf_kernel: NDArray[np.int64]
    """Operators without a kernel (views): they stand before the launch of that number, inside the operator around
    it."""
    leaf_name: NDArray[np.int64]
    bucket_after: NDArray[np.int64]
    """The launch after which each gradient bucket is complete and its all-reduce begins."""
    sequences: int

    @property
    def optimizer_begin(self) -> int:
        """The first launch that belongs to the optimizer: only the last micro-batch of a step goes beyond it."""
        return int(np.searchsorted(self.section, OPTIMIZER))

    def rows(self, with_optimizer: bool) -> int:
        """Slices that `rows.py` writes for such a micro-batch, data loading and the step's own slices left out."""
        count = len(self.shape) if with_optimizer else self.optimizer_begin
        spans = int((self.spans.last < count).sum())
        leaves = int((self.leaf_kernel < count).sum())
        collectives = 5 * len(self.bucket_after) if with_optimizer else 0
        return 2 * count + spans + leaves + collectives + (4 if with_optimizer else 3) + _FIXED_ROWS


_FIXED_ROWS = 9 + 6 + 1
"""Two copies to the device and one memset: an operator, an API call and a device slice each; reading the loss back; a
frame of backward."""

OP, PYTHON = 1, 2


@dataclass
class _Builder:
    names: dict[str, int] = field(default_factory=dict)
    kernels: list[tuple[str, int, int]] = field(default_factory=list)
    spans: list[tuple[int, int, int, int, int, int]] = field(default_factory=list)
    leaves: list[tuple[int, int]] = field(default_factory=list)
    buckets: list[int] = field(default_factory=list)
    section: int = FORWARD
    sequences: int = 0
    _heights: list[int] = field(default_factory=lambda: [0])

    def name(self, text: str) -> int:
        return self.names.setdefault(text, len(self.names))

    @contextmanager
    def span(self, kind: int, name: str, sequence: int = -1) -> Iterator[None]:
        first = len(self.kernels)
        self._heights.append(0)
        yield
        level = self._heights.pop() + 1
        self._heights[-1] = max(self._heights[-1], level)
        self.spans.append((first, len(self.kernels) - 1, level, kind, self.name(name), sequence))

    def launch(self, op: str, *shapes: str, sequence: int = -1) -> None:
        """One operator per kernel."""
        for shape in shapes:
            with self.span(OP, op, sequence):
                self.kernels.append((shape, self.section, len(self.spans)))
                self._heights[-1] = max(self._heights[-1], 0)

    def leaf(self, op: str) -> None:
        self.leaves.append((len(self.kernels), self.name(op)))

    def sequence(self) -> int:
        self.sequences += 1
        return self.sequences - 1

    def linear(self, name: str, shape: str) -> int:
        number = self.sequence()
        with self.span(PYTHON, f"nn.Module: {name}"), self.span(OP, "aten::linear"):
            self.leaf("aten::t")
            self.launch("aten::addmm", shape, sequence=number)
        return number

    def module(self, name: str, outer: str, inner: str, shape: str) -> int:
        number = self.sequence()
        with self.span(PYTHON, f"nn.Module: {name}"), self.span(OP, outer):
            self.launch(inner, shape, sequence=number)
        return number

    @contextmanager
    def node(self, name: str, number: int) -> Iterator[None]:
        with self.span(OP, f"autograd::engine::evaluate_function: {name}"), self.span(OP, name, number):
            yield

    def linear_backward(self, number: int) -> None:
        with self.node("AddmmBackward0", number):
            self.leaf("aten::t")
            self.launch("aten::mm", "data_gradient", "weight_gradient")
            self.launch("aten::sum", "bias_gradient")

    def layer(self, index: int) -> dict[str, int]:
        """The forward pass of one transformer block. Returns the autograd node of each of its operators."""
        node: dict[str, int] = {}
        with self.span(PYTHON, f"nn.Module: Block_{index}"):
            node["norm1"] = self.module("LayerNorm", "aten::layer_norm", "aten::native_layer_norm", "layer_norm")
            with self.span(PYTHON, "nn.Module: SelfAttention"):
                node["qkv"] = self.linear("Linear", "qkv")
                node["attention"] = self.sequence()
                with self.span(OP, "aten::scaled_dot_product_attention"):
                    self.leaf("aten::transpose")
                    self.launch("aten::_flash_attention_forward", "flash", sequence=node["attention"])
                node["projection"] = self.linear("Linear", "projection")
                node["dropout1"] = self.module("Dropout", "aten::dropout", "aten::native_dropout", "dropout")
            self.launch("aten::add", "add")
            node["norm2"] = self.module("LayerNorm", "aten::layer_norm", "aten::native_layer_norm", "layer_norm")
            with self.span(PYTHON, "nn.Module: FeedForward"):
                node["fc1"] = self.linear("Linear", "fc1")
                node["gelu"] = self.sequence()
                with self.span(PYTHON, "nn.Module: GELU"):
                    self.launch("aten::gelu", "gelu", sequence=node["gelu"])
                node["fc2"] = self.linear("Linear", "fc2")
                node["dropout2"] = self.module("Dropout", "aten::dropout", "aten::native_dropout", "dropout")
            self.launch("aten::add", "add")
        return node

    def layer_backward(self, node: dict[str, int]) -> None:
        for branch in (
            ("dropout2", "fc2", "gelu", "fc1", "norm2"),
            ("dropout1", "projection", "attention", "qkv", "norm1"),
        ):
            for name in branch:
                number = node[name]
                if name.startswith("dropout"):
                    with self.node("NativeDropoutBackward0", number):
                        self.launch("aten::native_dropout_backward", "dropout_backward")
                elif name.startswith("norm"):
                    with self.node("NativeLayerNormBackward0", number):
                        self.launch("aten::native_layer_norm_backward", "layer_norm_backward", "gamma_backward")
                    self.launch("aten::add_", "add")
                elif name == "gelu":
                    with self.node("GeluBackward0", number):
                        self.launch("aten::gelu_backward", "gelu_backward")
                elif name == "attention":
                    with self.node("ScaledDotProductFlashAttentionBackward0", number):
                        self.leaf("aten::transpose")
                        self.launch("aten::_flash_attention_backward", "flash_dot", "flash_backward")
                else:
                    self.linear_backward(number)
            self.buckets.append(len(self.kernels) - 1)


def build(layers: int) -> Unit:
    """The template of a transformer of that many layers."""
    b = _Builder()
    with b.span(PYTHON, "nn.Module: DistributedDataParallel"), b.span(PYTHON, "nn.Module: Transformer"):
        embedding = b.module("Embedding", "aten::embedding", "aten::index_select", "embedding")
        nodes = [b.layer(index) for index in range(layers)]
        final = b.module("LayerNorm", "aten::layer_norm", "aten::native_layer_norm", "layer_norm")
        head = b.linear("Linear", "head")
    b.section = LOSS
    softmax = b.sequence()
    with b.span(PYTHON, "nn.Module: CrossEntropyLoss"), b.span(OP, "aten::cross_entropy_loss"):
        b.launch("aten::_log_softmax", "softmax", sequence=softmax)
        b.launch("aten::nll_loss_forward", "nll")
    b.section = BACKWARD
    with b.node("LogSoftmaxBackward0", softmax):
        b.launch("aten::_log_softmax_backward_data", "softmax_backward")
    b.linear_backward(head)
    with b.node("NativeLayerNormBackward0", final):
        b.launch("aten::native_layer_norm_backward", "layer_norm_backward", "gamma_backward")
    for node in reversed(nodes):
        b.layer_backward(node)
    with b.node("EmbeddingBackward0", embedding):
        b.launch("aten::embedding_dense_backward", "embedding_backward")
    b.section = OPTIMIZER
    with b.span(PYTHON, "torch/nn/utils/clip_grad.py: clip_grad_norm_"):
        b.launch("aten::_foreach_norm", "norm")
        b.launch("aten::mul", "add")
    with b.span(PYTHON, "torch/optim/adamw.py: AdamW.step"), b.span(OP, "Optimizer.step#AdamW.step"):
        b.launch("aten::_fused_adamw_", *["adam"] * max(1, layers // 2))
    first, last, level, kind, name, sequence = (np.array(column, np.int64) for column in zip(*b.spans, strict=True))
    leaf_kernel, leaf_name = (np.array(column, np.int64) for column in zip(*b.leaves, strict=True))
    shape, section, op_span = zip(*b.kernels, strict=True)
    return Unit(
        layers,
        tuple(b.names),
        tuple(shape),
        np.array([KERNELS[key].weight for key in shape]),
        np.array(section, np.int64),
        np.array(op_span, np.int64),
        Spans(first, last, level, kind.astype(np.uint8), name, sequence),
        leaf_kernel,
        leaf_name,
        np.array(b.buckets, np.int64),
        b.sequences,
    )
