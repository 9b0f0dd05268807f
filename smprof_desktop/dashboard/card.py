"""The card of one panel: title, help, what can be changed, and the chart or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Literal

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSpinBox, QToolButton, QVBoxLayout

from smprof_desktop.analysis.names import FORMS
from smprof_desktop.analysis.quantities import time_text
from smprof_desktop.dashboard.chart import Chart
from smprof_desktop.dashboard.charts import chart
from smprof_desktop.dashboard.figures import Bars, Figure, Histogram, Lines, Missing, Pie, Table
from smprof_desktop.dashboard.panels import Option, Panel
from smprof_desktop.dashboard.pie import PieChart
from smprof_desktop.plain_label import label
from smprof_desktop.plain_text import tooltip

State = Literal["waiting", "shown", "missing", "failed"]
WAITING_HEIGHT_PX, SAID_HEIGHT_PX = 180, 70


class Card(QFrame):
    """One panel. `state` says which of chart, waiting, nothing and failure it shows.

    Signals:
        opened(Door): whoever looks wants to see the slices behind a number.
        moment_opened(object, object): … a range of time, in ns from the start of what the figure is for.
        kernel_opened(str): … that kernel.
        option_changed(str, int): the number of that key is another.
        removed(): the panel is wanted no more.
    """

    opened = Signal(object)
    moment_opened = Signal(object, object)
    kernel_opened = Signal(str)
    option_changed = Signal(str, int)
    removed = Signal()

    def __init__(self, panel: Panel, options: Mapping[str, int] | None = None, can_remove: bool = False) -> None:
        """`options` are the numbers in force, where they differ from the panel's own."""
        super().__init__()
        self.panel = panel
        self.state: State = "waiting"
        self._names = FORMS[0]
        self.setObjectName("card")
        self.setAccessibleName(panel.title)
        self.options: dict[str, QSpinBox] = {}
        self._help = label(panel.help, "muted", wraps=True)
        self._help.hide()
        self._note = label("", "muted", wraps=True, selectable=True)
        self._note.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._chart: Chart | None = None
        self._basis = label("", "muted", wraps=True)
        head = QHBoxLayout()
        head.addWidget(label(panel.title, "card_title", wraps=True), 1)
        for option in panel.options:
            box = self._spin_box(option, (options or {}).get(option.key, option.default))
            head.addWidget(label(option.title, "muted"), 0, Qt.AlignmentFlag.AlignVCenter)
            head.addWidget(box, 0, Qt.AlignmentFlag.AlignVCenter)
        question = self._question = QToolButton()
        question.setText("?")
        question.setAutoRaise(True)
        question.setCheckable(True)
        question.setAccessibleName(f"Help on {panel.title}")
        question.setToolTip(tooltip(panel.help))
        question.toggled.connect(self._help.setVisible)
        head.addWidget(question, 0, Qt.AlignmentFlag.AlignTop)
        if can_remove:
            remove = QToolButton()
            remove.setText("×")
            remove.setAutoRaise(True)
            remove.setAccessibleName(f"Remove {panel.title}")
            remove.setToolTip("Remove this panel")
            remove.clicked.connect(self.removed)
            head.addWidget(remove, 0, Qt.AlignmentFlag.AlignTop)
        self._body = QVBoxLayout(self)
        self._body.setContentsMargins(12, 8, 12, 8)
        self._body.setSpacing(4)
        self._body.addLayout(head)
        self._body.addWidget(self._help)
        self._body.addWidget(self._note, 1)
        self._body.addWidget(self._basis)
        self.wait()

    @property
    def text(self) -> str:
        """What is said in place of a chart."""
        return self._note.text()

    @property
    def chart(self) -> Chart | None:
        """The chart, once there is one."""
        return self._chart

    def wait(self) -> None:
        """Say that the figure is being worked out."""
        self._say("waiting", "Working…")

    def show_figure(self, figure: Figure) -> None:
        """Draw the figure, or say why there is none."""
        if isinstance(figure, Missing):
            self._say("missing", figure.reason)
            return
        self._drop_chart()
        self.state = "shown"
        self._note.hide()
        made = self._chart = chart(figure, self.panel.title)
        made.use_names(self._names)
        made.opened.connect(self.opened)
        made.moment_opened.connect(self.moment_opened)
        if isinstance(made, PieChart):
            made.kernel_opened.connect(self.kernel_opened)
        self._body.insertWidget(2, made, 1)
        self._basis.setText(basis_text(figure))
        self._basis.setVisible(bool(self._basis.text()))

    def use_names(self, form: str) -> None:
        """Show names of kernels in one of `analysis.names.FORMS`."""
        self._names = form
        if self._chart is not None:
            self._chart.use_names(form)

    def fail(self, sentence: str) -> None:
        """Say that the figure could not be worked out."""
        self._say("failed", sentence)

    def _spin_box(self, option: Option, value: int) -> QSpinBox:
        box = QSpinBox()
        box.lineEdit().setAcceptDrops(False)  # what is dropped is for the window
        box.setRange(option.least, option.most)
        box.setValue(value)
        box.setSuffix(option.suffix)
        box.setGroupSeparatorShown(True)
        box.setKeyboardTracking(False)  # a number that is being typed is none yet
        box.setAccessibleName(f"{option.title} of {self.panel.title}")
        box.valueChanged.connect(partial(self.option_changed.emit, option.key))
        self.options[option.key] = box
        return box

    def _say(self, state: State, text: str) -> None:
        height_px = self._chart.height() if self._chart is not None and state == "waiting" else 0
        self._drop_chart()
        self.state = state
        self._note.setText(text)
        # The page should not jump when figures arrive.
        self._note.setMinimumHeight(max(height_px, WAITING_HEIGHT_PX) if state == "waiting" else SAID_HEIGHT_PX)
        self._note.show()
        self._basis.hide()

    def _drop_chart(self) -> None:
        if self._chart is not None:
            self._body.removeWidget(self._chart)
            self._chart.hide()
            self._chart.deleteLater()
            self._chart = None


def basis_text(figure: Pie | Lines | Histogram | Table | Bars) -> str:
    """Under the chart: what the shares are of, and which part is shown."""
    if isinstance(figure, Pie):
        whole = time_text(figure.whole) if figure.unit == "ns" else f"{figure.whole:,}"
        return f"Shares of {whole}: {figure.basis}." + (f" Shown: {figure.note}." if figure.note else "")
    parts = [figure.basis, figure.note if isinstance(figure, (Table, Bars)) else ""]
    return " ".join(f"{part[:1].upper()}{part[1:].rstrip('.')}." for part in parts if part)
