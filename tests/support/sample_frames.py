"""A small session as the agent would send it, deterministic, with exact sums, for tests of models and views.

Only for tests: the shapes are of a two-block character transformer, the times are made up.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterable

from tensorscope.core.schema import CATEGORIES, PHASES, ROLES
from tensorscope.core.wire import ARRAY_CODES, Column, Frame

MS = 1_000_000
ORIGIN_NS = 5_000_000_000
BLOCKS = 2
BASE = 0x7F00_0000_0000


def column(dtype: str, values: Iterable[float]) -> Column:
    """Return a one-dimensional column."""
    data = array(ARRAY_CODES[dtype], values)
    return Column(dtype, (len(data),), data.tobytes())


class SampleSession:
    """Builds the frames; `strings` interns as the agent does."""

    def __init__(self, steps: int = 40, seed: int = 0, leak_bytes: int = 0) -> None:
        self.random = random.Random(seed)
        self.steps = steps
        self.leak_bytes = leak_bytes
        self.strings = {"": 0}
        self.next_address = BASE
        self.live = 0
        self.params = self._params()

    def string(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    def _params(self) -> list[tuple[str, tuple[int, ...], int]]:
        shapes: list[tuple[str, tuple[int, ...]]] = [
            ("embed.weight", (96, 64)),
            ("position.weight", (32, 64)),
        ]
        for block in range(BLOCKS):
            shapes += [
                (f"blocks.{block}.norm.weight", (64,)),
                (f"blocks.{block}.attn.qkv.weight", (192, 64)),
                (f"blocks.{block}.attn.qkv.bias", (192,)),
                (f"blocks.{block}.attn.out.weight", (64, 64)),
                (f"blocks.{block}.mlp.up.weight", (256, 64)),
                (f"blocks.{block}.mlp.down.weight", (64, 256)),
            ]
        shapes.append(("head.weight", (96, 64)))
        return [(name, shape, self._address(4 * _elems(shape))) for name, shape in shapes]

    def _address(self, size_bytes: int) -> int:
        address = self.next_address
        self.next_address += -(-size_bytes // 64) * 64
        return address

    def frames(self) -> list[Frame]:
        """Return every frame of the session in order."""
        body = [self._baseline()]
        for step in range(self.steps):
            body += self._step(step)
            if step == 0:
                body += [self._graph(step), self._tensors(step)]
        body.append(Frame("heartbeat", meta={"steps": self.steps, "outbox_bytes": 0, "dropped_frames": 0,
                                             "dropped_events": 0, "agent_cpu_ns": 4 * MS}))  # fmt: skip
        words = list(self.strings)[1:]
        head = [self._hello(), Frame("strings", meta={"first": 1, "values": words})]
        return head + body

    def _hello(self) -> Frame:
        meta = {
            "protocol": 1, "agent_version": "0.1.0", "pid": 4242, "argv": ["train.py"], "script": "train.py",
            "python": "3.11.7", "torch": "2.13.0", "devices": [{"name": "cpu", "kind": "cpu", "total_bytes": 0}],
            "rank": 0, "world_size": 1, "host": "sample", "origin_ns": ORIGIN_NS,
            "origin_unix_ns": 1_790_000_000_000_000_000, "level": "scope", "recorder": "native",
            "recorder_note": "", "capabilities": ["level", "deep", "toggles", "toggle", "values", "detach"],
        }  # fmt: skip
        return Frame("hello", clock_ns=ORIGIN_NS, meta=meta)

    def _baseline(self) -> Frame:
        rows = [
            (address, 4 * _elems(shape), 0, -1, self.string(name)) for name, shape, address in self.params
        ]
        self.live = sum(row[1] for row in rows)
        names = ("address", "size_bytes", "category", "device", "name")
        dtypes = ("u8", "i8", "u1", "i2", "u4")
        columns = {n: column(d, v) for n, d, v in zip(names, dtypes, zip(*rows, strict=True), strict=True)}
        return Frame("baseline", 0, ORIGIN_NS, meta={"reason": "start"}, columns=columns)

    def _step(self, step: int) -> list[Frame]:
        """One step of 100 ms: forward 30, backward 50, optimizer 10, other 10; bf16 from step 20 on."""
        t0 = ORIGIN_NS + step * 100 * MS
        half = step >= 20
        marks = [0, 10, 40, 90, 100]
        phases = [0, 1, 2, 3]
        events: list[tuple[int, ...]] = []
        modules: list[tuple[int, ...]] = []
        peak = self._events(step, t0, half, events, modules)
        rows = {
            "step": [step], "t0_ns": [t0], "t1_ns": [t0 + 100 * MS], "forward_ns": [30 * MS],
            "backward_ns": [50 * MS], "optimizer_ns": [10 * MS],
            "loss": [4.5 * 0.97**step + self.random.random() * 0.05], "grad_norm": [float("nan")],
            "backwards": [1], "optimizer_steps": [1], "live_bytes": [self.live], "peak_bytes": [peak],
            "rss_bytes": [600 << 20], "agent_ns": [MS], "level": [1],
            "variant": [self.string("autocast-bf16" if half else "")],
        }  # fmt: skip
        dtypes = {"step": "i4", "loss": "f8", "grad_norm": "f8", "backwards": "i4", "optimizer_steps": "i4",
                  "level": "u1", "variant": "u4"}  # fmt: skip
        clock = t0 + 100 * MS
        frames = [
            _stream("module", step, clock, ("step", "module", "call", "depth", "t0_ns", "t1_ns"),
                    ("i4", "u4", "i4", "i4", "i8", "i8"), modules),
            _stream("alloc", step, clock,
                    ("t_ns", "address", "delta_bytes", "total_bytes", "step", "phase", "category", "device", "module"),
                    ("i8", "u8", "i8", "i8", "i4", "u1", "u1", "i2", "u4"), events),
            _stream("phase", step, clock, ("step", "phase", "t0_ns", "t1_ns"), ("i4", "u1", "i8", "i8"),
                    [(step, p, t0 + marks[i] * MS, t0 + marks[i + 1] * MS) for i, p in enumerate(phases)]),
        ]  # fmt: skip
        if step == 20:
            frames.insert(0, Frame("toggle", step, t0, meta={"name": "autocast", "on": True,
                                   "params": {"dtype": "bfloat16"}, "variant": "autocast-bf16"}))  # fmt: skip
        columns = {name: column(dtypes.get(name, "i8"), values) for name, values in rows.items()}
        return [*frames, Frame("step", step, clock, columns=columns)]

    def _events(self, step: int, t0: int, half: bool, events: list, modules: list) -> int:
        peak, saved, grads = self.live, [], []
        names = [f"blocks.{b}.{part}" for b in range(BLOCKS) for part in ("norm", "attn", "mlp")] + ["head"]
        index = {name: i for i, name in enumerate(CATEGORIES)}

        def emit(t: int, address: int, delta: int, phase: int, category: str, module: str) -> None:
            nonlocal peak
            self.live += delta
            peak = max(peak, self.live)
            events.append(
                (t, address, delta, self.live, step, phase, index[category], -1, self.string(module))
            )

        for i, name in enumerate(names):
            t = t0 + 10 * MS + i * 30 * MS // len(names)
            modules.append((step, self.string(name), 0, name.count(".") + 1, t, t + 30 * MS // len(names)))
            size = (65536 + 4096 * i) // (2 if half else 1)
            kept, scratch = self._address(size), self._address(8192)
            emit(t + MS, kept, size, 1, "activation", name)
            emit(t + MS + 1000, scratch, 8192, 1, "temporary", name)
            emit(t + 2 * MS, scratch, -8192, 1, "temporary", name)
            saved.append((kept, size, name))
        for i, (address, size, name) in enumerate(reversed(saved)):
            t = t0 + 41 * MS + i * 40 * MS // len(saved)
            grad = self._address(size)
            emit(t, grad, size, 2, "gradient", name)
            emit(t + MS, address, -size, 2, "activation", name)
            grads.append((grad, size, name))
        for i, (address, size, name) in enumerate(grads):
            emit(t0 + 98 * MS + i * 1000, address, -size, 3, "gradient", name)
        if self.leak_bytes:
            emit(t0 + 99 * MS, self._address(self.leak_bytes), self.leak_bytes, 0, "unknown", "")
        return peak

    def _graph(self, step: int) -> Frame:
        nodes: list[tuple[str, int, str, str, str, int, str]] = []  # name seq module param shape saved source
        edges: list[tuple[int, int]] = []
        saved: list[tuple[int, str, str, int, int]] = []

        def add(name: str, module: str, shape: str, saved_bytes: int = 0, param: str = "") -> int:
            seq = -1 if param else 1000 - len(nodes)
            nodes.append((name, seq, module, param, shape, saved_bytes, "" if param else "model.py:41"))
            if saved_bytes:
                saved.append((len(nodes) - 1, "self", shape, saved_bytes, self._address(saved_bytes)))
            return len(nodes) - 1

        def param(name: str, consumer: int) -> None:
            shape = next(list(s) for n, s, _ in self.params if n == name)
            edges.append((consumer, add("AccumulateGrad", "", str(shape), param=name)))

        last = add("NllLossBackward0", "", "[]", 1024)
        chain = [
            ("LogSoftmaxBackward0", "", "[256, 96]", 98304, ""),
            ("MmBackward0", "head", "[256, 96]", 65536, "head.weight"),
        ]
        for b in reversed(range(BLOCKS)):
            at = f"blocks.{b}"
            chain += [
                ("AddBackward0", at, "[8, 32, 64]", 0, ""),
                ("AddmmBackward0", f"{at}.mlp.down", "[256, 64]", 262144, f"{at}.mlp.down.weight"),
                ("GeluBackward0", f"{at}.mlp", "[256, 256]", 262144, ""),
                ("AddmmBackward0", f"{at}.mlp.up", "[256, 256]", 65536, f"{at}.mlp.up.weight"),
                ("MmBackward0", f"{at}.attn.out", "[256, 64]", 65536, f"{at}.attn.out.weight"),
                ("ScaledDotProductBackward0", f"{at}.attn", "[8, 4, 32, 16]", 196608, ""),
                ("AddmmBackward0", f"{at}.attn.qkv", "[256, 192]", 65536, f"{at}.attn.qkv.weight"),
                ("NativeLayerNormBackward0", f"{at}.norm", "[8, 32, 64]", 67584, f"{at}.norm.weight"),
            ]
        chain += [("EmbeddingBackward0", "embed", "[8, 32, 64]", 2048, "embed.weight")]
        block_input: int | None = None
        for name, module, shape, size, parameter in chain:
            node = add(name, module, shape, size)
            edges.append((last, node))
            if name == "AddBackward0":
                if block_input is not None:
                    edges.append((block_input, node))  # the residual connection
                block_input = node
            if parameter:
                param(parameter, node)
            last = node
        s = self.string
        columns = {
            "node_name": column("u4", [s(n[0]) for n in nodes]), "node_seq": column("i8", [n[1] for n in nodes]),
            "node_module": column("u4", [s(n[2]) for n in nodes]), "node_call": column("i4", [0] * len(nodes)),
            "node_param": column("u4", [s(n[3]) for n in nodes]), "node_shape": column("u4", [s(n[4]) for n in nodes]),
            "node_dtype": column("u4", [s("float32")] * len(nodes)),
            "node_saved_bytes": column("i8", [n[5] for n in nodes]),
            "node_source": column("u4", [s(n[6]) for n in nodes]),
            "node_backward_ns": column("i8", [200_000 + 1000 * i for i in range(len(nodes))]),
            "edge_from": column("i4", [e[0] for e in edges]), "edge_to": column("i4", [e[1] for e in edges]),
            "saved_node": column("i4", [x[0] for x in saved]), "saved_name": column("u4", [s(x[1]) for x in saved]),
            "saved_shape": column("u4", [s(x[2]) for x in saved]),
            "saved_dtype": column("u4", [s("float32")] * len(saved)),
            "saved_bytes": column("i8", [x[3] for x in saved]), "saved_storage": column("u8", [x[4] for x in saved]),
        }  # fmt: skip
        meta = {"loss": 4.5, "root_names": ["loss"], "compiled": False, "truncated": False}
        return Frame("graph", step, ORIGIN_NS + 100 * MS, meta=meta, columns=columns)

    def _tensors(self, step: int) -> Frame:
        rows = []  # name role shape strides offset storage storage_bytes leaf
        for name, shape, address in self.params:
            rows.append((name, "parameter", shape, _contiguous(shape), 0, address, 4 * _elems(shape)))
        for name, shape, _ in self.params:
            rows.append(
                (
                    name + ".grad",
                    "gradient",
                    shape,
                    _contiguous(shape),
                    0,
                    self._address(4 * _elems(shape)),
                    4 * _elems(shape),
                )
            )
        qkv = self._address(4 * 8 * 32 * 192)
        for i, part in enumerate("qkv"):  # three views of one storage, transposed to heads
            rows.append(
                (
                    f"blocks.0.attn.{part}",
                    "activation",
                    (8, 4, 32, 16),
                    (6144, 16, 192, 1),
                    64 * i,
                    qkv,
                    4 * 8 * 32 * 192,
                )
            )
        rows.append(
            ("blocks.0.attn.mask", "activation", (8, 32, 32), (0, 32, 1), 0, self._address(4096), 4096)
        )
        rows.append(("loss", "activation", (), (), 0, self._address(4), 4))
        s = self.string
        columns = {
            "name": column("u4", [s(r[0]) for r in rows]), "role": column("u1", [ROLES.index(r[1]) for r in rows]),
            "dtype": column("u4", [s("float32")] * len(rows)), "device": column("i2", [-1] * len(rows)),
            "itemsize_bytes": column("u1", [4] * len(rows)), "ndim": column("u1", [len(r[2]) for r in rows]),
            "sizes_elems": column("i8", [n for r in rows for n in r[2]]),
            "strides_elems": column("i8", [n for r in rows for n in r[3]]),
            "offset_elems": column("i8", [r[4] for r in rows]), "storage": column("u8", [r[5] for r in rows]),
            "storage_bytes": column("i8", [r[6] for r in rows]),
            "requires_grad": column("u1", [int(r[1] in ("parameter", "activation")) for r in rows]),
            "is_leaf": column("u1", [int(r[1] == "parameter") for r in rows]),
            "grad_fn": column("u4", [s("ViewBackward0" if r[1] == "activation" else "") for r in rows]),
            "version": column("i4", [1] * len(rows)), "module": column("u4", [s(r[0].rsplit(".", 1)[0]) for r in rows]),
            "node": column("i4", [-1] * len(rows)),
        }  # fmt: skip
        return Frame("tensors", step, ORIGIN_NS + 100 * MS, columns=columns)


def sample_frames(steps: int = 40, leak_bytes: int = 0) -> list[Frame]:
    """Return the frames of the sample session."""
    return SampleSession(steps, leak_bytes=leak_bytes).frames()


def _elems(shape: tuple[int, ...]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(_elems(shape[i + 1 :]) for i in range(len(shape)))


def _stream(
    kind: str, step: int, clock: int, names: tuple[str, ...], dtypes: tuple[str, ...], rows: list
) -> Frame:
    values = list(zip(*rows, strict=True)) or [()] * len(names)
    columns = {name: column(dtype, value) for name, dtype, value in zip(names, dtypes, values, strict=True)}
    return Frame(kind, step, clock, columns=columns)


assert PHASES[3] == "optimizer"
