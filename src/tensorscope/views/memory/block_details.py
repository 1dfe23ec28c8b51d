"""All that is known of the selected block: lifetime, stack, tensors, who saved it and who holds it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from itertools import groupby
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from tensorscope.core.units import format_bytes
from tensorscope.models.block_lifetime import BlockLifetime
from tensorscope.models.block_story import BlockStory
from tensorscope.views.memory.holder_texts import holders_html
from tensorscope.views.names import Names

MAX_FRAMES = 40
INTERPRETER = ("_Py", "Py", "pymain_", "__libc_start")
"""Functions of CPython itself: they lie between any two lines of Python and tell nothing."""


class BlockDetails(QWidget):
    """Text about one block, and a button that asks a live program who holds it. GUI thread."""

    holders_asked = Signal()
    told_changed = Signal()
    """There is a block now, or there is none any more."""

    def __init__(self, names: Names, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("blockDetails")
        self._names = names
        self._text = QLabel(self)
        self._text.setObjectName("blockDetailsText")
        self._text.setWordWrap(True)
        self._text.setTextFormat(Qt.TextFormat.RichText)
        self._text.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._text.setMargin(6)
        self._button = QPushButton(self)
        self._button.setObjectName("whoHoldsIt")
        self._button.clicked.connect(self.holders_asked)
        self._holders = ""
        self._shown: tuple[BlockLifetime, BlockStory, bool] | None = None
        scroll = QScrollArea(self)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(self._text)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(scroll, 1)
        layout.addWidget(self._button)
        self.retranslate()

    def show_block(self, block: BlockLifetime | None, story: BlockStory | None, live: bool) -> None:
        """Show a block; None hides everything."""
        if block is None or story is None:
            self._shown, self._holders = None, ""
            self.told_changed.emit()
            return
        if self._shown is None or self._shown[0].address != block.address:
            self._holders = ""
        self._shown = block, story, live
        self._button.setVisible(live)
        self._button.setEnabled(block.end is None)
        self._text.setText(self._html(block, story))
        self.told_changed.emit()

    @property
    def tells(self) -> bool:
        """Whether there is a block to tell of."""
        return self._shown is not None

    def show_holders(self, meta: Mapping[str, Any]) -> None:
        """Show the answer to ``holders``."""
        nothing = self.tr("Nothing that the program's objects lead to: it is gone, or C++ holds it.")
        self._holders = holders_html(meta, nothing)
        if self._shown is not None:
            self.show_block(*self._shown)

    def show_asked(self) -> None:
        """Say that the program was asked."""
        self.show_holders({"error": self.tr("Asked the program; it answers after this step.")})

    def retranslate(self) -> None:
        """Set every text again."""
        self._button.setText(self.tr("Who holds it?"))
        self._button.setToolTip(self.tr("Ask the program which objects keep this block alive"))
        if self._shown is not None:
            self.show_block(*self._shown)

    # -- texts ----------------------------------------------------------------------------------

    def _html(self, block: BlockLifetime, story: BlockStory) -> str:
        category = self._names.categories()[min(block.category, 7)]
        rows = [
            (self.tr("Block"), f"{format_bytes(block.size_bytes)} · {category}"),
            (self.tr("Bytes"), f"{block.size_bytes:,}"),
            (self.tr("Address"), f"0x{block.address:x} · {self._names.device(block.device)}"),
            (self.tr("Module"), block.module),
            (self.tr("Name"), block.name),
            (self.tr("Lives"), self._lives(block)),
            (self.tr("Stream"), str(story.stream) if story.stream > 0 else ""),
            (self.tr("Pool"), story.pool),
            (self.tr("Operator"), story.source),
        ]
        parts = [
            f"<tr><td>{escape(name)}&nbsp;</td><td>{escape(value)}</td></tr>" for name, value in rows if value
        ]
        html = f"<table cellspacing=0>{''.join(parts)}</table>"
        html += self._list(
            self.tr("Tensors in it"),
            [f"{one.name} {one.dtype} {list(one.shape)}" for one in story.tensors],
        )
        html += self._list(
            self.tr("Saved for backward by"),
            [f"{node} ({module})" if module else node for node, module in story.saved_by],
        )
        html += self._stack(story)
        if self._holders:
            html += f"<p><b>{escape(self.tr('Held by'))}</b><br>{self._holders}</p>"
        return html

    def _lives(self, block: BlockLifetime) -> str:
        if block.begin is None:
            return self.tr("its allocation was not seen")
        if block.end is None:
            return self.tr("lost in a gap") if block.lost_t_ns >= 0 else self.tr("still alive")
        return f"{(block.end.t_ns - block.begin.t_ns) / 1e6:,.3f} ms"

    @staticmethod
    def _list(title: str, lines: list[str]) -> str:
        if not lines:
            return ""
        return f"<p><b>{escape(title)}</b><br>{'<br>'.join(map(escape, lines))}</p>"

    def _stack(self, story: BlockStory) -> str:
        """Return the frames: those of the program itself stand out, runs of native ones are one line."""
        lines = []
        shown = [frame for frame in story.frames if not frame.function.startswith(INTERPRETER)]
        for native, run in groupby(shown[:MAX_FRAMES], key=lambda frame: frame.is_native):
            frames = list(run)
            if native and len(frames) > 1:
                count = self.tr("{count} native frames, from {first}")
                lines.append(f"<i>{escape(count.format(count=len(frames), first=frames[0].short))}</i>")
                continue
            texts = [(escape(frame.short), frame.is_native or frame.is_library) for frame in frames]
            lines += [text if foreign else f"<b>{text}</b>" for text, foreign in texts]
        if len(shown) > MAX_FRAMES:
            lines.append(escape(self.tr("and {count} more").format(count=len(shown) - MAX_FRAMES)))
        if not lines:
            return ""
        return f"<p><b>{escape(self.tr('Stack, innermost first'))}</b><br>{'<br>'.join(lines)}</p>"
