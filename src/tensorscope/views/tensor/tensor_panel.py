"""One tensor: what it is, its grid, the strip of its storage, and the address equation that joins them."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from tensorscope.compute.coverage import distinct_elems, runs_of
from tensorscope.compute.strides import Longs, elements_at
from tensorscope.core.units import format_bytes
from tensorscope.models.tensor_model import TensorSnapshot
from tensorscope.models.values_request import Part, Values
from tensorscope.views.tensor.axis_bar import AxisBar
from tensorscope.views.tensor.storage_strip import StorageStrip
from tensorscope.views.tensor.tensor_grid import TensorGrid
from tensorscope.views.tensor.tensor_names import TensorNames

MAX_OTHERS_NAMED = 3


class TensorPanel(QWidget):
    """Grid and strip follow each other's hovering. Values are asked for through `values_wanted`."""

    values_wanted = Signal(object)  # Part
    tensor_picked = Signal(int)  # row

    def __init__(self, names: TensorNames, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._names = names
        self._tensor: TensorSnapshot | None = None
        self._live = False
        self._name, self._facts, self._reading = QLabel(self), QLabel(self), QLabel(self)
        for label, name in (
            (self._name, "tensorName"),
            (self._facts, "tensorFacts"),
            (self._reading, "reading"),
        ):
            label.setObjectName(name)
            label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            label.setTextFormat(Qt.TextFormat.PlainText)
        font = self._name.font()
        font.setBold(True)
        self._name.setFont(font)
        self._facts.setWordWrap(True)
        self._reading.setWordWrap(True)
        self._reading.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._read = QPushButton(self)
        self._read.setObjectName("readValues")
        self._read.setCheckable(True)
        self._read.setEnabled(False)
        self._read.toggled.connect(self._on_read)
        self.axis_bar, self.grid, self.strip = AxisBar(self), TensorGrid(self), StorageStrip(self)
        self._build()
        self._retranslate()

    def _build(self) -> None:
        top = QHBoxLayout()
        top.setContentsMargins(8, 6, 8, 0)
        top.addWidget(self._name, 1)
        top.addWidget(self._read)
        facts, reading = QHBoxLayout(), QHBoxLayout()
        facts.setContentsMargins(8, 2, 8, 2)
        facts.addWidget(self._facts)
        reading.setContentsMargins(8, 2, 8, 6)
        reading.addWidget(self._reading)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(top)
        layout.addLayout(facts)
        layout.addWidget(self.axis_bar)
        layout.addWidget(self.grid, 1)
        layout.addWidget(self.strip)
        layout.addLayout(reading)
        self._reading.setFixedHeight(3 * self.fontMetrics().lineSpacing() + 2)
        self.axis_bar.axes_changed.connect(self.grid.set_axes)
        self.axis_bar.index_changed.connect(self.grid.set_index)
        self.grid.scrolled_axis.connect(self.axis_bar.step)
        self.grid.hovered.connect(self._on_grid_hovered)
        self.grid.window_changed.connect(self._on_window)
        self.strip.hovered.connect(self._on_strip_hovered)
        self.strip.picked.connect(self.tensor_picked)

    def show_tensor(self, tensor: TensorSnapshot | None) -> None:
        """Show another tensor."""
        self._tensor = tensor
        drawable = tensor is not None and not tensor.problem
        self.grid.show_tensor(
            tensor.strided if tensor and drawable else None, tensor.storage_elems if tensor else 0
        )
        self.strip.show_tensor(tensor)
        self.axis_bar.show_axes(
            tensor.strided.sizes if tensor and drawable else (), self.grid.axes, self.grid.index
        )
        for widget in (self.axis_bar, self.grid, self.strip):
            widget.setVisible(drawable)
        self._show_texts()
        self._on_window()

    def set_live(self, live: bool) -> None:
        """Say whether values can be asked for."""
        if live != self._live:
            self._live = live
            self._read.setEnabled(live)
            self._retranslate()

    def part(self) -> Part | None:
        """Return what the grid shows now."""
        if self._tensor is None or self._tensor.problem:
            return None
        top, left, down, right = self.grid.visible_part()
        return Part(self._tensor.name, self.grid.axes, tuple(self.grid.index), (top, left), (down, right))

    def show_values(self, values: Values | None, problem: str) -> None:
        """Fill the grid with what was read, or say why it could not be."""
        part = self.part()
        if values and part and self._read.isChecked() and values.part.same_slice(part):
            self.grid.set_values(values.data, values.start)
        else:
            self.grid.set_values(None, (0, 0))
        if problem and self._read.isChecked():
            self._reading.setText(self.tr("No values: {reason}").format(reason=problem))

    # -- hovering ---------------------------------------------------------------------------------

    def _on_grid_hovered(self, index: tuple[int, ...] | None) -> None:
        tensor = self._tensor
        if tensor is None or index is None:
            self._clear_hover()
            return
        place, item = tensor.strided.position(index), tensor.itemsize_bytes
        self.grid.set_mark((place, place + 1))
        self.strip.set_mark((place * item, (place + 1) * item))
        self._reading.setText(self._equation(index, place) + "\n" + self._others_text(place * item))

    def _on_strip_hovered(self, byte: int | None) -> None:
        tensor = self._tensor
        if tensor is None or byte is None:
            self._clear_hover()
            return
        item = tensor.itemsize_bytes
        place = byte // item
        self.grid.set_mark((place, place + 1))
        self.strip.set_mark((place * item, (place + 1) * item))
        found = elements_at(tensor.strided, place, limit=4)
        if len(found):
            text = self._equation(tuple(found[0].tolist()), place)
            if len(found) > 1:
                text += " " + self.tr("(also {others})").format(others=_indices(found[1:]))
        else:
            text = self.tr("Byte {byte}: no element of this tensor lies here").format(byte=f"{byte:,}")
        self._reading.setText(text + "\n" + self._others_text(byte))

    def _clear_hover(self) -> None:
        self.grid.set_mark(None)
        self.strip.set_mark(None)
        self._reading.setText(self.tr("Hover over the grid or the strip: each shows where the other lies"))

    def _equation(self, index: tuple[int, ...], place: int) -> str:
        assert self._tensor is not None
        strided, item = self._tensor.strided, self._tensor.itemsize_bytes
        terms = [f"{i}·{s}" for i, s in zip(index, strided.strides, strict=True)]
        total = " + ".join([f"{strided.offset}", *terms])
        return self.tr("{index}: offset {total} = element {place}, byte {first} of {whole}").format(
            index=list(index), total=total, place=f"{place:,}", first=f"{place * item:,}",
            whole=f"{self._tensor.storage_bytes:,}",
        )  # fmt: skip

    def _others_text(self, byte: int) -> str:
        assert self._tensor is not None
        found = []
        for view in self._tensor.views[1:]:
            elements = elements_at(view.strided, byte // view.itemsize_bytes, limit=2)
            if len(elements):
                found.append(f"{view.name}{elements[0].tolist()}" + (" …" if len(elements) > 1 else ""))
        if not found:
            return self.tr("No other tensor reads this place") if len(self._tensor.views) > 1 else ""
        named = ", ".join(found[:MAX_OTHERS_NAMED]) + (" …" if len(found) > MAX_OTHERS_NAMED else "")
        return self.tr("The same bytes are {others}").format(others=named)

    # -- texts ------------------------------------------------------------------------------------

    def _on_window(self) -> None:
        part = self.part()
        if part is not None and self._read.isChecked() and self._live:
            self.values_wanted.emit(part)

    def _on_read(self, on: bool) -> None:
        if on:
            self._on_window()
        else:
            self.grid.set_values(None, (0, 0))

    def _show_texts(self) -> None:
        tensor = self._tensor
        self._read.setVisible(tensor is not None and not tensor.problem)
        if tensor is None:
            self._name.setText("")
            self._facts.setText("")
            self._reading.setText(self.tr("Select a tensor to see how it lies in its storage"))
            return
        self._name.setText(tensor.name)
        self._facts.setText(self._facts_text(tensor))
        if tensor.problem:
            self._reading.setText(
                self.tr("What was reported of this tensor reaches outside of its storage; it is not drawn.")
                if tensor.storage else self.tr("This tensor has no storage of its own.")
            )  # fmt: skip
        else:
            self._clear_hover()

    def _facts_text(self, tensor: TensorSnapshot) -> str:
        strided, item = tensor.strided, tensor.itemsize_bytes
        parts = [
            f"{tensor.dtype} {list(strided.sizes)}",
            self.tr("strides {strides}").format(strides=list(strided.strides)),
            self._names.layouts()[tensor.layout],
        ]
        if not tensor.problem:
            reads = distinct_elems(runs_of(strided))
            total = max(1, tensor.storage_elems)
            if reads is not None:
                parts.append(
                    self.tr("reads {share}% of a storage of {size}").format(
                        share=f"{100 * reads / total:.3g}", size=format_bytes(tensor.storage_bytes)
                    )
                )
                if tensor.storage_bytes > reads * item:
                    unread = format_bytes(tensor.storage_bytes - reads * item)
                    parts.append(self.tr("{size} not reachable").format(size=unread))
            if strided.repeats() > 1:
                parts.append(
                    self.tr("each place repeated {count} times").format(count=f"{strided.repeats():,}")
                )
        return " · ".join(parts)

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
            self._show_texts()

    def _retranslate(self) -> None:
        self._read.setText(self.tr("Read values"))
        self._read.setToolTip(
            self.tr("Read the visible part from the program at its next step boundary")
            if self._live
            else self.tr("Values can be read only from a running program that is attached")
        )
        self.grid.setAccessibleName(self.tr("Elements of the tensor, coloured by their place in the storage"))
        self.strip.setAccessibleName(self.tr("Bytes of the storage and the tensors that lie in it"))


def _indices(found: Longs) -> str:
    return ", ".join(str(index) for index in found.tolist())
