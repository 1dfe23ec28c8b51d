"""Session models for tests of models and views."""

from collections.abc import Iterable

from tensorscope.core.wire import Frame
from tensorscope.models.session_model import SessionModel
from tests.support.sample_frames import sample_frames


class FakeSource:
    """A live target that keeps what was sent to it and answers when told to."""

    def __init__(self) -> None:
        self.state = "open"
        self.problem = ""
        self.sent: list[Frame] = []
        self.waiting: list[Frame] = []

    def poll(self) -> Frame | None:
        return self.waiting.pop(0) if self.waiting else None

    def send(self, frame: Frame) -> None:
        self.sent.append(frame)

    def reply(self, result=None, ok: bool = True, error: str | None = None, step: int = 0) -> None:
        """Answer the newest command."""
        command = self.sent[-1].meta["id"]
        meta = {"id": command, "ok": ok, "error": error, "step": step, "result": result}
        self.waiting.append(Frame("reply", step, meta=meta))


def fed(session: SessionModel, frames: Iterable[Frame]) -> SessionModel:
    """Return `session` after it took in `frames`."""
    for frame in frames:
        session.ingest(frame)
    session.after_ingest()
    return session


def sample_session(steps: int = 40, source: FakeSource | None = None, leak_bytes: int = 0) -> SessionModel:
    """Return a session that holds the sample frames."""
    return fed(SessionModel("sample", source), sample_frames(steps, leak_bytes=leak_bytes))
