"""The graph record of a deep step: complete, attributed, harmless."""

import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn.modules import module as nn_module
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack
from torch.utils.checkpoint import checkpoint

from tensorscope.agent.capture import autograd as autograd_module
from tensorscope.agent.capture.autograd import AutogradCapture
from tensorscope.agent.capture.backward_call import BackwardCall
from tensorscope.agent.capture.ops import OpsCapture
from tensorscope.agent.capture.tensors import TensorsCapture
from tests.agent.deep_harness import Harness
from tests.agent.deep_models import Run, fingerprint

ALL = (AutogradCapture, TensorsCapture, OpsCapture)


def line() -> int:
    return sys._getframe(1).f_lineno


def brute_force(loss: torch.Tensor) -> tuple[list[str], set[tuple[str, str]]]:
    seen, todo, edges = {}, [loss.grad_fn], set()
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen[node] = f"{node.name()} {node._sequence_nr() if 'Accumulate' not in node.name() else -1}"
        todo += [child for child, _ in node.next_functions if child is not None]
    for node in seen:
        edges |= {(seen[node], seen[child]) for child, _ in node.next_functions if child is not None}
    return sorted(text.replace("torch::autograd::", "") for text in seen.values()), {
        (a.replace("torch::autograd::", ""), b.replace("torch::autograd::", "")) for a, b in edges
    }


def assert_nothing_left() -> None:
    assert not nn_module._global_forward_hooks
    assert not nn_module._global_forward_pre_hooks
    assert _get_current_function_mode_stack() == []
    assert _get_current_dispatch_mode_stack() == []


@pytest.mark.parametrize("kind", ["mlp", "conv", "gpt"])
def test_that_nodes_and_edges_are_those_of_the_graph(kind: str) -> None:
    run = Run(kind)
    harness = Harness(run.model, run.optimizer)
    inputs, targets = run.batch()
    harness.begin()
    loss = nn.functional.cross_entropy(run.model(inputs).flatten(0, -2), targets)
    names, edges = brute_force(loss)
    loss.backward()
    harness.end()
    graph = harness.record("graph")
    mine = [f"{n} {s}" for n, s in zip(graph["node_name"], graph["node_seq"], strict=True)]
    assert sorted(mine) == names
    pairs = {(mine[a], mine[b]) for a, b in zip(graph["edge_from"], graph["edge_to"], strict=True)}
    assert pairs == edges
    assert mine[0].startswith("NllLoss")
    parameters = {name for name, _ in run.model.named_parameters()}
    assert set(graph["node_param"]) - {""} == parameters
    assert graph["meta"]["loss"] == loss.item()
    assert graph["meta"]["root_names"] == ["loss"]


def test_that_every_node_made_in_a_forward_has_its_module_call_and_source_line() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(4, 4)

        def forward(self, x):
            self.first = line() + 1
            x = self.inner(x)
            self.second = line() + 1
            return self.inner(x).sin()

    model = nn.Sequential(Twice())
    harness = Harness(model, torch.optim.SGD(model.parameters()))
    harness.begin()
    at = line() + 1
    loss = model(torch.randn(2, 4)).sum()
    loss.backward()
    harness.end()
    graph = harness.record("graph")
    got = {
        (name, module, call, source.rpartition(":")[2])
        for name, module, call, source, number in zip(
            *(graph[f"node_{key}"] for key in ("name", "module", "call", "source", "seq")), strict=True
        )
        if number >= 0
    }
    first, second = str(model[0].first), str(model[0].second)
    # The weight's transpose is one node per call; both calls of the inner module are told apart.
    assert got == {
        ("SumBackward0", "", 0, str(at)),
        ("SinBackward0", "0", 0, second),
        ("AddmmBackward0", "0.inner", 1, second),
        ("TBackward0", "0.inner", 1, second),
        ("AddmmBackward0", "0.inner", 0, first),
        ("TBackward0", "0.inner", 0, first),
    }
    assert all("test_autograd_capture.py:" in source for source in graph["node_source"] if source)


def test_that_saved_bytes_are_those_of_the_distinct_storages_that_only_the_graph_holds() -> None:
    run = Run("gpt")
    harness = Harness(run.model, run.optimizer)
    inputs, targets = run.batch()
    held: dict[int, int] = {}

    def pack(tensor):
        held[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    torch.manual_seed(1)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        expected_loss = nn.functional.cross_entropy(run.model(inputs).flatten(0, -2), targets)
    kept = {p.untyped_storage().data_ptr() for p in run.model.parameters()}
    expected = sum(size for address, size in held.items() if address not in kept)
    torch.manual_seed(1)
    harness.begin()
    loss = nn.functional.cross_entropy(run.model(inputs).flatten(0, -2), targets)
    loss.backward()
    harness.end()
    graph = harness.record("graph")
    assert loss == expected_loss
    assert sum(graph["node_saved_bytes"]) == expected
    by_storage = dict(zip(graph["saved_storage"], graph["saved_bytes"], strict=True))
    assert sum(size for address, size in by_storage.items() if address not in kept) == expected
    assert any(address in kept for address in by_storage)  # weights are listed, though they cost nothing
    assert all(size >= 0 for size in graph["node_backward_ns"])
    assert set(graph["node_dtype"]) == {"float32"}


def test_that_checkpointed_forwards_are_not_run_again_and_say_so() -> None:
    calls = []

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(4, 4)

        def forward(self, x):
            calls.append(1)
            return self.inner(x).tanh()

    model = Block()
    harness = Harness(model, torch.optim.SGD(model.parameters()))
    harness.begin()
    loss = checkpoint(model, torch.randn(2, 4), use_reentrant=False).sum()
    assert len(calls) == 1
    loss.backward()
    harness.end()
    assert len(calls) == 2  # once more in backward, as ever
    graph = harness.record("graph")
    assert sum(graph["node_saved_bytes"]) == 0
    assert set(graph["saved_dtype"]) == {"recomputed"}
    assert "inner" in graph["node_module"]


def test_that_several_backwards_of_a_step_make_one_record() -> None:
    model = nn.Linear(3, 1)
    harness = Harness(model, torch.optim.SGD(model.parameters()))
    harness.begin()
    for _ in range(3):
        model(torch.randn(2, 3)).sum().backward()
    harness.end()
    graph = harness.record("graph")
    assert graph["meta"]["backwards"] == 3
    assert graph["meta"]["root_names"] == ["loss", "loss#1", "loss#2"]
    assert graph["node_name"].count("SumBackward0") == 3
    assert sorted(name for name in graph["node_param"] if name) == ["bias", "weight"]
    assert [call for name, call in zip(graph["node_name"], graph["node_call"], strict=True)
            if name == "AddmmBackward0"] == [0, 1, 2]  # fmt: skip


def test_that_a_graph_used_by_two_backwards_is_not_counted_twice() -> None:
    model = nn.Linear(3, 1)
    harness = Harness(model, torch.optim.SGD(model.parameters()))
    harness.begin()
    shared = model(torch.randn(2, 3)).sin()
    shared.sum().backward(retain_graph=True)
    shared.exp().sum().backward()
    harness.end()
    graph = harness.record("graph")
    assert graph["node_name"].count("SinBackward0") == 1
    assert graph["node_name"].count("SumBackward0") == 2
    sin = graph["node_name"].index("SinBackward0")
    assert graph["edge_to"].count(sin) == 2


def test_that_a_custom_function_shows_what_it_saved_and_where_it_is_written() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    model = nn.Linear(3, 5)
    harness = Harness(model, torch.optim.SGD(model.parameters()))
    harness.begin()
    Double.apply(model(torch.randn(2, 3))).sum().backward()
    harness.end()
    graph = harness.record("graph")
    node = graph["node_name"].index("DoubleBackward")
    assert graph["node_saved_bytes"][node] == 2 * 5 * 4
    assert graph["node_source"][node].endswith(f":{Double.forward.__code__.co_firstlineno}")


def test_that_freed_graphs_and_deep_ones_are_read() -> None:
    x = torch.randn(4, requires_grad=True)
    y = x
    for _ in range(9_000):
        y = y * 1.0
    harness = Harness()
    loss = y.sum()
    loss.backward(retain_graph=True)
    harness.begin()
    loss.backward()
    with pytest.raises(RuntimeError, match="second time"):
        (x * 1.0 + y).sum().backward()  # its graph is partly freed
    harness.end()
    graph = harness.record("graph")
    assert graph["node_name"].count("MulBackward0") == 9_001
    assert graph["meta"]["backwards"] == 2


@pytest.mark.parametrize("kind", ["mlp", "conv", "gpt"])
def test_that_a_deep_step_changes_no_bit_and_leaves_nothing(kind: str) -> None:
    plain = Run(kind)
    losses = [plain.step().item().hex() for _ in range(4)]
    digest = plain.digest()
    watched = Run(kind)
    before = fingerprint(watched.model)
    mine = [watched.step().item().hex()]
    harness = Harness(watched.model, watched.optimizer, ALL)
    for step in range(2):
        harness.begin(step)
        mine.append(watched.step().item().hex())
        harness.end(step)
        assert_nothing_left()
    mine.append(watched.step().item().hex())
    assert mine == losses
    assert watched.digest() == digest
    assert fingerprint(watched.model) == before
    assert harness.notices() == []


def test_that_no_timing_hook_and_no_node_outlives_backward(monkeypatch: pytest.MonkeyPatch) -> None:
    timers = []
    real = autograd_module.NodeProbe

    class Spy(real):
        def __init__(self, runs, norms) -> None:
            super().__init__(runs, norms)
            timers.append(weakref.ref(self))

    monkeypatch.setattr(autograd_module, "NodeProbe", Spy)
    model = nn.Linear(3, 1)
    harness = Harness(model, torch.optim.SGD(model.parameters()))
    gc.disable()
    try:
        harness.begin()
        loss = model(torch.randn(2, 3)).sum()
        loss.backward(retain_graph=True)
        harness.end()
        # The graph is alive; a hook of ours in it would keep its timer alive.
        assert [ref() for ref in timers] == [None]
    finally:
        gc.enable()
    loss.backward()


def test_that_a_backward_that_raises_leaves_no_hook() -> None:
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            raise ValueError("mine")

    model = nn.Linear(3, 1)
    harness = Harness(model, torch.optim.SGD(model.parameters()))
    harness.begin()
    with pytest.raises(ValueError, match="mine"):
        Fails.apply(model(torch.randn(2, 3))).sum().backward()
    (capture,) = harness.captures
    assert capture._probe is None
    harness.end()
    assert_nothing_left()


def test_that_a_forward_that_raises_does_not_confuse_what_comes_after() -> None:
    class Fails(nn.Module):
        def forward(self, x):
            raise ValueError("mine")

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fails, self.inner = Fails(), nn.Linear(3, 1)

        def forward(self, x):
            try:
                self.fails(x)
            except ValueError:
                return self.inner(x).exp()

    model = Outer()
    harness = Harness(model, torch.optim.SGD(model.parameters()))
    harness.begin()
    model(torch.randn(2, 3)).sum().backward()
    harness.end()
    graph = harness.record("graph")
    modules = dict(zip(graph["node_name"], graph["node_module"], strict=True))
    assert modules["AddmmBackward0"] == "inner"
    assert modules["ExpBackward0"] == ""


def test_that_modes_of_the_user_are_left_in_their_order() -> None:
    class Mine(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    model = nn.Linear(3, 1)
    harness = Harness(model, torch.optim.SGD(model.parameters()), ALL)
    outer, inner = Mine(), Mine()
    with torch.device("cpu") as device, outer:
        harness.begin()
        with inner:
            model(torch.randn(2, 3)).sum().backward()
            harness.end()
            assert [m for m in _get_current_function_mode_stack() if isinstance(m, Mine)] == [outer, inner]
    harness.frames.clear()
    with outer:
        harness.begin()
    with torch.device("cpu"):  # both ends lie within the step
        model(torch.randn(2, 3)).sum().backward()
    harness.end()
    assert device is not None
    assert_nothing_left()
    assert any(harness.record("graph")["node_source"])


def test_that_a_step_that_ends_inside_backward_leaves_no_mode() -> None:
    """A program without an optimizer: its boundary lies within the call of backward."""
    model = nn.Linear(3, 1)
    harness = Harness(model)
    (capture,) = harness.captures
    real = torch.autograd._engine_run_backward

    def engine(roots, *args, **kwargs):
        capture.before_backward(BackwardCall(roots))
        out = real(roots, *args, **kwargs)
        capture.after_backward(BackwardCall(roots), None)
        capture.end_step(0)
        capture.stop()
        capture.begin_step(1)
        capture.before_forward(model, (), {})
        return out

    torch.autograd._engine_run_backward = engine
    try:
        capture.begin_step(0)
        model(torch.randn(2, 3)).sum().backward()
        model(torch.randn(2, 3)).sum().backward()
    finally:
        torch.autograd._engine_run_backward = real
        capture.stop()
    assert_nothing_left()


def test_that_modules_with_a_fast_path_take_it_all_the_same() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    model = nn.Linear(8, 8)
    harness = Harness(model, torch.optim.SGD(model.parameters()))
    x = torch.randn(2, 5, 8)
    taken = []
    real = torch._transformer_encoder_layer_fwd

    def spy(*args, **kwargs):
        taken.append(1)
        return real(*args, **kwargs)

    torch._transformer_encoder_layer_fwd = spy
    try:
        with torch.no_grad():
            expected = layer(x)
        harness.begin()
        with torch.no_grad():
            got = layer(x)
        model(got).sum().backward()
        harness.end()
    finally:
        torch._transformer_encoder_layer_fwd = real
    assert len(taken) == 2
    assert torch.equal(got, expected)
    assert any(harness.record("graph")["node_source"])


def test_that_nothing_is_installed_before_the_first_forward_of_a_program() -> None:
    model = nn.Linear(3, 1)
    harness = Harness(None, None, ALL)
    harness.begin()
    assert_nothing_left()
    harness.program.add_root(model)
    harness.program.refresh()
    harness.tell("before_forward", model, (), {})
    assert len(_get_current_function_mode_stack()) == 1
    model(torch.randn(2, 3)).sum().backward()
    harness.end()
    assert_nothing_left()
    assert "AddmmBackward0" in harness.record("graph")["node_name"]
    assert "aten.addmm.default" in harness.record("ops")["op"]


def test_that_the_compiler_is_given_way_in_the_middle_of_a_step() -> None:
    model = nn.Linear(3, 1)
    harness = Harness(model, torch.optim.SGD(model.parameters()), ALL)
    harness.begin()
    harness.tell("compile_begins")
    assert_nothing_left()
    model(torch.randn(2, 3)).sum().backward()
    harness.end()
    graph = harness.record("graph")
    assert graph["meta"]["compiled"]
    assert "AddmmBackward0" in graph["node_name"]
    assert set(graph["node_backward_ns"]) == {-1}
    assert harness.notices() == ["graph-compiled", "ops-compiled"]


@pytest.mark.parametrize(("limit", "read"), [("soft", "75002 False"), ("hard", "20000 True")])
def test_that_a_graph_too_deep_to_be_freed_recursively_does_no_harm(limit: str, read: str) -> None:
    """Where the stack may grow, all of it is read; where it may not, what can be freed."""
    script = f"""
import resource, torch
soft = 8 << 20
resource.setrlimit(resource.RLIMIT_STACK, (soft, soft if {limit!r} == "hard" else resource.RLIM_INFINITY))
from tests.agent.deep_harness import Harness
x = torch.ones(1, requires_grad=True)
y = x
for _ in range(75_000):
    y = y * 1.0
harness = Harness()
harness.begin()
y.sum().backward()
harness.end()
del y
graph = harness.record("graph")
print(len(graph["node_name"]), graph["meta"]["truncated"])
"""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False, cwd=root,
        env={**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"},
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, read), done.stderr
