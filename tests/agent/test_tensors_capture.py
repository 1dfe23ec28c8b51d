"""The tensors record of a deep step: every tensor once, as it is, of whatever kind."""

import warnings
import weakref

import pytest
import torch
from torch import nn

from tensorscope.agent.capture.autograd import AutogradCapture
from tensorscope.agent.capture.tensors import TensorsCapture
from tensorscope.core.schema import ROLES
from tests.agent.deep_harness import Harness
from tests.agent.deep_models import Run

KINDS = (AutogradCapture, TensorsCapture)


def rows_of(record: dict) -> dict[tuple[str, str], dict]:
    """Return the rows by (role, name), sizes and strides cut out of their flat columns."""
    out, at = {}, 0
    for i, name in enumerate(record["name"]):
        row = {
            key: values[i]
            for key, values in record.items()
            if key not in ("meta", "sizes_elems", "strides_elems")
        }
        ndim = row["ndim"]
        row["sizes"] = tuple(record["sizes_elems"][at : at + ndim])
        row["strides"] = tuple(record["strides_elems"][at : at + ndim])
        at += ndim
        key = (ROLES[row["role"]], name)
        assert key not in out, f"{key} is there twice"
        out[key] = row
    assert at == len(record["sizes_elems"]) == len(record["strides_elems"])
    return out


def step(run: Run, harness: Harness) -> None:
    inputs, targets = run.batch()
    run.optimizer.zero_grad()
    harness.tell("before_forward", run.model, (inputs,), {})
    loss = nn.functional.cross_entropy(run.model(inputs).flatten(0, -2), targets)
    loss.backward()
    run.optimizer.step()


@pytest.mark.parametrize("kind", ["mlp", "conv", "gpt"])
def test_that_what_the_program_holds_is_listed_as_it_is(kind: str) -> None:
    run = Run(kind)
    harness = Harness(run.model, run.optimizer, KINDS)
    harness.begin()
    step(run, harness)
    harness.end()
    rows = rows_of(harness.record("tensors"))
    expected = {("parameter", name): p for name, p in run.model.named_parameters()}
    expected |= {("gradient", f"{name}.grad"): p.grad for name, p in run.model.named_parameters()}
    expected |= {("buffer", name): b for name, b in run.model.named_buffers()}
    names = {p: name for name, p in run.model.named_parameters()}
    for parameter, state in run.optimizer.state.items():
        expected |= {("optimizer_state", f"{names[parameter]}.{key}"): value for key, value in state.items()}
    held = {key for key in rows if key[0] in ("parameter", "gradient", "buffer", "optimizer_state")}
    assert held == set(expected)
    for key, tensor in expected.items():
        row = rows[key]
        assert row["sizes"] == tuple(tensor.shape)
        assert row["strides"] == tensor.stride()
        assert row["storage"] == tensor.untyped_storage().data_ptr()
        assert row["storage_bytes"] == tensor.untyped_storage().nbytes()
        assert row["dtype"] == str(tensor.dtype).removeprefix("torch.")
        assert (row["requires_grad"], row["is_leaf"]) == (tensor.requires_grad, tensor.is_leaf)
        assert row["version"] == tensor._version
        assert row["device"] == -1


def test_that_rows_lead_to_their_graph_nodes() -> None:
    run = Run("gpt")
    harness = Harness(run.model, run.optimizer, KINDS)
    harness.begin()
    step(run, harness)
    harness.end()
    graph, rows = harness.record("graph"), rows_of(harness.record("tensors"))
    node = rows["parameter", "attn.qkv.weight"]["node"]
    assert graph["node_param"][node] == "attn.qkv.weight"
    assert rows["gradient", "attn.qkv.weight.grad"]["node"] == node
    assert rows["gradient", "attn.qkv.weight.grad"]["module"] == "attn.qkv"
    output = rows["activation", "attn.qkv"]
    assert graph["node_module"][output["node"]] == "attn.qkv"
    assert graph["node_name"][output["node"]] == output["grad_fn"]
    assert rows["activation", "loss"]["node"] == 0
    assert rows["input", "input"]["sizes"] == (2, 6)
    saved = {key[1]: row for key, row in rows.items() if key[0] == "saved"}
    assert len(saved) == len(graph["saved_node"])
    gelu = saved["GeluBackward0.self"]
    assert graph["node_name"][gelu["node"]] == "GeluBackward0"
    assert saved["attn.qkv.AddmmBackward0.mat1"]["module"] == "attn.qkv"


def test_that_outputs_of_every_call_and_structure_have_their_names() -> None:
    class Many(nn.Module):
        def forward(self, x):
            return {"a": x + 1, "b": (x * 2, [x * 3])}

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.many, self.weight = Many(), nn.Parameter(torch.ones(2))

        def forward(self, x):
            return self.many(x * self.weight)["a"] + self.many(x)["a"]

    model = Outer()
    harness = Harness(model, torch.optim.SGD(model.parameters()), KINDS)
    harness.begin()
    model(torch.ones(2)).sum().backward()
    harness.end()
    names = {name for role, name in rows_of(harness.record("tensors")) if role == "activation"}
    assert names == {
        "many.a",
        "many.b.0",
        "many.b.1",
        "many.a#1",
        "many.b.0#1",
        "many.b.1#1",
        "output",
        "loss",
    }


def test_that_activations_live_no_longer_because_they_were_seen() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    harness = Harness(model, torch.optim.SGD(model.parameters()), KINDS)
    harness.begin()
    with torch.no_grad():
        hidden = model[0](torch.ones(1, 2))
        alive = weakref.ref(hidden)
        del hidden
        assert alive() is None
    model(torch.ones(1, 2)).sum().backward()
    harness.end()


def test_that_tensors_without_ordinary_storage_make_rows_too() -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))
            self.register_buffer("sparse", torch.eye(3).to_sparse())
            self.register_buffer("compressed", torch.eye(3).to_sparse_csr())
            self.register_buffer("meta", torch.empty(2, 5, device="meta"))
            self.register_buffer("quantised", torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.qint8))
            self.register_buffer("nested", torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]))
            self.register_buffer(
                "jagged", torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)
            )
            self.register_buffer("empty", torch.empty(0, 7))
            self.register_buffer("complex", torch.ones(2, dtype=torch.complex64))
            self.register_buffer("mine", torch.ones(3).as_subclass(Mine))

        def forward(self, x):
            return (x * self.weight).sum()

    class Mine(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise RuntimeError("not for you")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some kinds are still announced as prototypes
        model = Odd()
    with torch.inference_mode():
        model.register_buffer("inference", torch.ones(2))
    harness = Harness(model, torch.optim.SGD(model.parameters()), KINDS)
    harness.begin()
    model(torch.ones(3)).backward()
    harness.end()
    rows = rows_of(harness.record("tensors"))
    assert {name for role, name in rows if role == "buffer"} == {name for name, _ in model.named_buffers()}
    for name in ("sparse", "meta", "compressed"):
        assert rows["buffer", name]["storage"] == 0
        assert rows["buffer", name]["storage_bytes"] == 0
    assert rows["buffer", "sparse"]["sizes"] == (3, 3)
    assert rows["buffer", "meta"]["sizes"] == (2, 5)
    assert rows["buffer", "quantised"]["itemsize_bytes"] == 1
    assert rows["buffer", "mine"]["sizes"] == (3,)
    assert (
        rows["buffer", "mine"]["storage"] == model.mine.as_subclass(torch.Tensor).untyped_storage().data_ptr()
    )
    assert rows["buffer", "inference"]["version"] == -1


def test_that_without_the_graph_what_the_program_holds_is_still_listed() -> None:
    run = Run("mlp")
    harness = Harness(run.model, run.optimizer, (TensorsCapture,))
    harness.begin()
    step(run, harness)
    harness.end()
    rows = rows_of(harness.record("tensors"))
    assert ("gradient", "0.weight.grad") in rows
    assert ("activation", "loss") in rows
    assert {row["node"] for row in rows.values()} == {-1}
