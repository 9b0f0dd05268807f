"""The histogram of any annotation, as the user asks for it: a panel made of a name. No Qt."""

from __future__ import annotations

from functools import partial

import numpy as np

from smprof_desktop.analysis.doors import Chosen
from smprof_desktop.analysis.names import readable
from smprof_desktop.analysis.quantities import elide_middle
from smprof_desktop.analysis.steps import is_step
from smprof_desktop.dashboard.absent import missing
from smprof_desktop.dashboard.figures import Figure, Histogram
from smprof_desktop.dashboard.overview import histogram, with_doors
from smprof_desktop.dashboard.panel import Panel
from smprof_desktop.dashboard.scope import Scope


def panel_of(name: str) -> Panel:
    """The panel of the annotations of that name, stem or pattern."""
    title = elide_middle(readable(name), 120)
    return Panel(
        f"histogram {name}",
        f"{title}: time distribution",
        ("annotation.start_ns", "annotation.duration_ns"),
        partial(annotation_times, name),
        Histogram,
        2,
        f"How long the annotations took that are called {title}, or that but for the number at the end.",
    )


def annotation_times(name: str, scope: Scope) -> Figure:
    """Durations of the host-side annotations of that name, stem or pattern, trimmed to the range."""
    chosen = Chosen(
        "annotation",
        kinds=("host",),
        name_like=partial(is_step, wanted=name),
        begin_ns=scope.begin_ns,
        end_ns=scope.end_ns,
    )
    found = chosen.door("").find(scope.profile, scope.cancelled)
    title = elide_middle(readable(name), 120)
    if not len(found):
        remedy = (
            f'No annotation is called "{title}". Pick one that was recorded, or annotate the code: '
            "`with smprof.annotate('…')`."
        )
        return missing(scope, "annotation of this name", remedy)
    count = "1 annotation" if len(found) == 1 else f"{len(found):,} annotations"
    made = histogram(np.asarray(found.end_ns - found.start_ns), f"{count}, on the host")
    return with_doors(made, chosen, title)
