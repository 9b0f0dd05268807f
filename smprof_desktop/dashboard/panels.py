"""The panels of the dashboard as a table: title, what must have been recorded, the function, the form, the help text.

A panel's function is pure: it takes a Scope and returns a figure, or Missing with the reason and the remedy. No Qt.
"""

from __future__ import annotations

from collections.abc import Sequence

from smprof_desktop.dashboard import cpu_panels, kernel_pies, overview
from smprof_desktop.dashboard.annotation_panels import ANNOTATION_PANELS
from smprof_desktop.dashboard.collective_panels import COLLECTIVE_PANELS
from smprof_desktop.dashboard.figures import Histogram, Lines, Pie
from smprof_desktop.dashboard.idle_panels import IDLE_PANELS
from smprof_desktop.dashboard.kernel_panels import KERNEL_PANELS
from smprof_desktop.dashboard.launch_panels import LAUNCH_PANELS
from smprof_desktop.dashboard.memory_panels import MEMORY_PANELS
from smprof_desktop.dashboard.operator_panels import OPERATOR_PANELS
from smprof_desktop.dashboard.panel import DEVICE_TIME, SECTIONS, Option, Panel
from smprof_desktop.dashboard.step_panels import STEP_PANELS

__all__ = ["PANELS", "SECTIONS", "Option", "Panel"]


_CPU = ("counter.time_ns", "counter.value")

PANELS: Sequence[Panel] = (
    Panel(
        "gpu_active_time",
        "GPU active time",
        DEVICE_TIME,
        overview.gpu_active_time,
        Pie,
        2,
        "How much of the recorded time the GPUs had a kernel, copy or set running on any stream, against the "
        "time they had none. "
        "Much idle time means that the GPUs wait: for the host to launch, for data, or for each other.",
    ),
    Panel(
        "gpu_utilization_over_time",
        "GPU utilization over time",
        DEVICE_TIME,
        overview.gpu_utilization_over_time,
        Lines,
        4,
        "For each host, the mean share of each moment in which its GPUs were active. Covers only what was "
        "recorded between start and "
        "stop. Look for hosts that do less than others, for gaps, and for a level that stays low.",
    ),
    Panel(
        "cpu_active_time",
        "CPU active time",
        _CPU,
        cpu_panels.cpu_active_time,
        Pie,
        2,
        "How much of the sampled time the CPUs did anything at all (utilization above 0 %), against the time at 0 %. "
        "Every CPU counts by itself; each sample holds until the next. Few active CPUs beside waiting GPUs mean that "
        "more workers can load data.",
    ),
    Panel(
        "cpu_utilization_over_time",
        "CPU utilization over time",
        _CPU,
        cpu_panels.cpu_utilization_over_time,
        Lines,
        4,
        "For each host, the mean utilization of its CPUs, from the start of the job: earlier than what was recorded of "
        "the GPUs. A high level while the GPUs wait means that the host is what holds them up.",
    ),
    Panel(
        "kernels_by_time",
        "Time spent by all GPU kernels",
        DEVICE_TIME,
        kernel_pies.time_by_kernels,
        Pie,
        3,
        "All time in kernels: those with most of it by name, the others together. Shares are of all kernel time; "
        "kernels that overlap count twice.",
        options=(kernel_pies.MOST_KERNELS,),
    ),
    Panel(
        "top_kernels_by_time",
        "Time spent by top 15 GPU kernels",
        DEVICE_TIME,
        kernel_pies.time_by_top_kernels,
        Pie,
        3,
        "The kernels in which the GPUs spent most time. These are where a faster kernel, a lower precision or a "
        "better launch "
        "shape pays most.",
    ),
    Panel(
        "kernels_by_count",
        "Launch counts of all GPU kernels",
        DEVICE_TIME,
        kernel_pies.launches_by_kernels,
        Pie,
        3,
        "How often kernels ran: those that ran most by name, the others together. Shares are of all kernel launches.",
        options=(kernel_pies.MOST_KERNELS,),
    ),
    Panel(
        "top_kernels_by_count",
        "Launch counts of top 15 GPU kernels",
        DEVICE_TIME,
        kernel_pies.launches_by_top_kernels,
        Pie,
        3,
        "The kernels that ran most often. Many launches of short kernels are a sign of launch overhead: fuse "
        "them, or capture "
        "them in a CUDA graph.",
    ),
    Panel(
        "step_times",
        "Step time distribution",
        ("annotation.start_ns", "annotation.duration_ns"),
        overview.step_time_distribution,
        Histogram,
        3,
        "How long the annotated steps took. A long tail or a second hill means that some steps wait: often for "
        "data, a checkpoint or "
        "a slower rank.",
    ),
    Panel(
        "kernel_precision",
        "Kernel precision distribution",
        DEVICE_TIME,
        kernel_pies.kernel_precision_distribution,
        Pie,
        3,
        "Kernel time by the type of number that the kernels compute with, as their names tell it: where inputs and "
        "sums differ, the inputs count. Much FP32 in matrix products means that mixed precision may pay; what no rule "
        "knows is unknown.",
    ),
    Panel(
        "gpu_activities",
        "GPU activity distribution",
        DEVICE_TIME,
        overview.gpu_activity_distribution,
        Pie,
        3,
        "Time in kernels, in memory operations (memcpy, memset) and in synchronisation calls of the host (sync).",
    ),
    Panel(
        "gpu_memory_operations",
        "GPU memory operations distribution",
        (*DEVICE_TIME, "device.copy_kind"),
        overview.memory_operations_distribution,
        Pie,
        3,
        "Time in copies by direction: HtoD is from host to device. Much time there may be hidden behind kernels "
        "by pinned memory "
        "and asynchronous copies.",
    ),
    *IDLE_PANELS,
    *LAUNCH_PANELS,
    *OPERATOR_PANELS,
    *ANNOTATION_PANELS,
    *COLLECTIVE_PANELS,
    *STEP_PANELS,
    *MEMORY_PANELS,
    *KERNEL_PANELS,
)
"""In the order of the page."""
