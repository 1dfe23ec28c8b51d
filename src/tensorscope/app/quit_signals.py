"""Ctrl-C, a closed terminal and the end of the desktop session close the window as a person would."""

from __future__ import annotations

import contextlib
import signal
import socket
from typing import Any

from PySide6.QtCore import QObject, QSocketNotifier, Signal

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _noted(*_: object) -> None:
    """Leave the rest to the event loop, which the signal's byte has woken."""


class QuitSignals(QObject):
    """Emits `asked` in the GUI thread, even while the event loop waits and no Python runs. GUI thread.

    Signals that whoever started us told us to ignore stay ignored.
    """

    asked = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._wake, self._woken = socket.socketpair()
        for end in (self._wake, self._woken):
            end.setblocking(False)
        self._notifier = QSocketNotifier(self._woken.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._on_woken)
        self._before: dict[signal.Signals, Any] = {}
        self._before_fd = signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, _noted)

    def restore(self) -> None:
        """Let the signals do what they did before."""
        self._notifier.setEnabled(False)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._before_fd)
        self._wake.close()
        self._woken.close()

    def _on_woken(self) -> None:
        with contextlib.suppress(BlockingIOError):
            numbers = self._woken.recv(64)
            if self._before.keys() & set(numbers):
                self.asked.emit()
