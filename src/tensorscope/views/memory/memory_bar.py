"""The row of controls above the memory timeline."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLineEdit, QMenu, QSizePolicy, QToolButton, QWidget

from tensorscope.models.grouping import GROUPS
from tensorscope.models.memory_axis import EVENT, TIME
from tensorscope.models.memory_curves import CURVES, DRIVER_PROCESS, DRIVER_USED, PROCESS, RESERVED
from tensorscope.models.memory_marks import ANNOTATION, OOM, SEGMENT_GIVEN, SEGMENT_TAKEN
from tensorscope.models.memory_snapshot import ALL_DEVICES
from tensorscope.views.memory.series_names import SeriesNames
from tensorscope.views.names import Names

WINDOWS = (1, 5, 20, 0)
MARKS = {"annotation": ANNOTATION, "oom": OOM, "segment": SEGMENT_TAKEN}
DEPTHS = (0, 1, 2, 3)


class MemoryBar(QWidget):
    """What to show: window, grouping, device, axis, curves, marks, and what to look for. GUI thread."""

    window_chosen = Signal(int)
    """Number of steps, 0 for all."""
    group_chosen = Signal()
    device_chosen = Signal()
    axis_chosen = Signal()
    shown_changed = Signal()
    """Curves or marks."""
    search_changed = Signal(str)
    next_asked = Signal()

    def __init__(self, names: Names, series: SeriesNames, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._names, self._series = names, series
        self._known_curves: tuple[str, ...] = ()
        self.window_box, self.group_box, self.device_box = QComboBox(self), QComboBox(self), QComboBox(self)
        self.window_box.setObjectName("memoryWindow")
        self.group_box.setObjectName("memoryGroup")
        self.device_box.setObjectName("memoryDevice")
        self.search = QLineEdit(self)
        self.search.setObjectName("memorySearch")
        self.search.setClearButtonEnabled(True)
        self.search.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.show_button = QToolButton(self)
        self.show_button.setObjectName("memoryShow")
        self.show_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._build_menu()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 4, 8, 4)
        for widget in (self.window_box, self.group_box, self.device_box, self.show_button, self.search):
            layout.addWidget(widget)
        self.window_box.activated.connect(self._on_window)
        self.group_box.activated.connect(self.group_chosen)
        self.device_box.activated.connect(self.device_chosen)
        self.search.textChanged.connect(self.search_changed)
        self.search.returnPressed.connect(self.next_asked)
        self.retranslate()

    def _build_menu(self) -> None:
        menu = QMenu(self.show_button)
        self.show_button.setMenu(menu)
        axes = QActionGroup(menu)
        self._axes = {kind: self._action(menu, f"axis_{kind}", kind == TIME) for kind in (TIME, EVENT)}
        for action in self._axes.values():
            axes.addAction(action)
            action.toggled.connect(self._on_axis)
        menu.addSeparator()
        self._curves = {name: self._action(menu, f"curve_{name}", name == RESERVED) for name in CURVES}
        menu.addSeparator()
        self._marks = {name: self._action(menu, f"mark_{name}", True) for name in MARKS}
        for action in (*self._curves.values(), *self._marks.values()):
            action.toggled.connect(self.shown_changed)
        menu.addSeparator()
        depths = QActionGroup(menu)
        self._depths = {depth: self._action(menu, f"depth_{depth}", depth == 0) for depth in DEPTHS}
        for action in self._depths.values():
            depths.addAction(action)
            action.toggled.connect(self._on_depth)

    @staticmethod
    def _action(menu: QMenu, name: str, checked: bool) -> QAction:
        action = menu.addAction("")
        action.setObjectName(f"memory_{name}")
        action.setCheckable(True)
        action.setChecked(checked)
        return action

    # -- what is chosen -------------------------------------------------------------------------

    @property
    def group(self) -> str:
        """The chosen grouping."""
        return str(self.group_box.currentData() or GROUPS[0])

    @property
    def module_depth(self) -> int:
        """How many parts of a module's path count, 0 for all."""
        return next((depth for depth, action in self._depths.items() if action.isChecked()), 0)

    @property
    def axis(self) -> str:
        """The chosen axis."""
        return EVENT if self._axes[EVENT].isChecked() else TIME

    @property
    def device(self) -> int:
        """The chosen device."""
        chosen = self.device_box.currentData()
        return ALL_DEVICES if chosen is None else int(chosen)

    @property
    def curves(self) -> tuple[str, ...]:
        """The curves that are wanted and known."""
        return tuple(name for name in self._known_curves if self._curves[name].isChecked())

    @property
    def marks(self) -> frozenset[int]:
        """The kinds of marks that are wanted."""
        found = {kind for name, kind in MARKS.items() if self._marks[name].isChecked()}
        return frozenset(found | ({SEGMENT_GIVEN} if SEGMENT_TAKEN in found else set()))

    # -- what the session has -------------------------------------------------------------------

    def set_axis(self, kind: str, timed: bool) -> None:
        """Choose an axis; a session without times has only one."""
        self._axes[kind].setChecked(True)
        self._axes[TIME].setEnabled(timed)

    def set_group(self, group: str) -> None:
        """Choose a grouping, without telling that the person did."""
        self.group_box.setCurrentIndex(max(0, self.group_box.findData(group)))

    def set_curves(self, known: tuple[str, ...]) -> None:
        """Offer the curves that there is anything of."""
        if known != self._known_curves:
            self._known_curves = known
            for name, action in self._curves.items():
                action.setVisible(name in known)

    def set_devices(self, devices: list[int]) -> None:
        """Offer the devices; nothing is offered where there is one."""
        wanted = [ALL_DEVICES, *devices]
        self.device_box.setVisible(len(devices) > 1)
        if [self.device_box.itemData(i) for i in range(self.device_box.count())] == wanted:
            return
        chosen = self.device
        self.device_box.clear()
        for device in wanted:
            name = self.tr("All devices") if device == ALL_DEVICES else self._names.device(device)
            self.device_box.addItem(name, device)
        self.device_box.setCurrentIndex(max(0, self.device_box.findData(chosen)))

    def show_window(self, steps: int, custom: bool) -> None:
        """Say in the chooser whether the person moved the window away from the last steps."""
        if custom and self.window_box.count() == len(WINDOWS):
            self.window_box.addItem(self.tr("Chosen span"))
        elif not custom and self.window_box.count() > len(WINDOWS):
            self.window_box.removeItem(len(WINDOWS))
        self.window_box.setCurrentIndex(len(WINDOWS) if custom else WINDOWS.index(steps))

    def retranslate(self) -> None:
        """Set every text again."""
        self._retranslate_boxes()
        self.show_button.setText(self.tr("Show"))
        texts = {
            self._axes[TIME]: self.tr("Axis: time"),
            self._axes[EVENT]: self.tr("Axis: event number"),
            self._curves[PROCESS]: self.tr("Process memory (RSS)"),
            self._curves[RESERVED]: self.tr("Reserved by the caching allocator"),
            self._curves[DRIVER_USED]: self.tr("Device memory in use by all (driver)"),
            self._curves[DRIVER_PROCESS]: self.tr("Device memory of this process (NVML)"),
            self._marks["annotation"]: self.tr("Annotations of the program"),
            self._marks["oom"]: self.tr("Failed allocations"),
            self._marks["segment"]: self.tr("Segments taken and given back"),
            self._depths[0]: self.tr("Modules: whole path"),
            self._depths[1]: self.tr("Modules: first part of the path"),
            self._depths[2]: self.tr("Modules: first 2 parts"),
            self._depths[3]: self.tr("Modules: first 3 parts"),
        }
        for action, text in texts.items():
            action.setText(text)
        self.search.setPlaceholderText(self.tr("Find: module, line, 0x address, > 10 MiB"))
        self.search.setAccessibleName(self.tr("Find allocations"))
        self.window_box.setAccessibleName(self.tr("Time window"))
        self.group_box.setAccessibleName(self.tr("What the stack is made of"))
        self.device_box.setAccessibleName(self.tr("Device"))

    def _retranslate_boxes(self) -> None:
        window, group = self.window_box.currentIndex(), self.group
        self.window_box.clear()
        for steps in WINDOWS:
            text = self.tr("Last {count} steps").format(count=steps) if steps > 1 else self.tr("Last step")
            self.window_box.addItem(text if steps else self.tr("All steps"))
        self.window_box.setCurrentIndex(max(0, min(window, len(WINDOWS) - 1)))
        self.group_box.clear()
        for name, text in self._series.groups().items():
            self.group_box.addItem(text, name)
        self.group_box.setCurrentIndex(max(0, self.group_box.findData(group)))
        devices = [self.device_box.itemData(i) for i in range(1, self.device_box.count())]
        self.device_box.clear()
        self.set_devices(devices)

    def _on_window(self, index: int) -> None:
        if index < len(WINDOWS):
            self.window_chosen.emit(WINDOWS[index])

    def _on_axis(self, on: bool) -> None:
        if on:
            self.axis_chosen.emit()

    def _on_depth(self, on: bool) -> None:
        if on and self.group == "module":
            self.group_chosen.emit()
