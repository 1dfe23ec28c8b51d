"""Toggles: off again they leave no trace, on they do what they say, refused they change nothing."""

import copy
import inspect
import io

import pytest
import torch
from torch import nn

from tensorscope.agent.toggles import ToggleError, all_off, autocast, list_toggles, switch
from tensorscope.agent.toggles.forward_chain import ForwardChain
from tests.agent.deep_harness import Harness
from tests.agent.deep_models import MODELS, Run, fingerprint

KINDS = sorted(MODELS)


def harness_of(run: Run) -> Harness:
    return Harness(run.model, run.optimizer)


def snapshot(run: Run) -> list[tuple[torch.Tensor, torch.Tensor]]:
    tensors = [*run.model.state_dict().values()]
    tensors += [value for state in run.optimizer.state.values() for value in state.values()]
    return [(tensor, tensor.detach().clone()) for tensor in tensors]


@pytest.mark.parametrize("kind", KINDS)
def test_that_on_and_off_again_before_any_step_is_the_plain_run(kind: str) -> None:
    plain = Run(kind)
    losses = [plain.step().item().hex() for _ in range(6)]
    digest = plain.digest()
    toggled = Run(kind)
    mine = [toggled.step().item().hex() for _ in range(3)]
    before, generator = fingerprint(toggled.model), torch.get_rng_state()
    context = harness_of(toggled).context
    switch(context, "autocast", True, {})
    assert fingerprint(toggled.model) != before
    switch(context, "autocast", False, {})
    assert fingerprint(toggled.model) == before
    assert torch.equal(torch.get_rng_state(), generator)
    mine += [toggled.step().item().hex() for _ in range(3)]
    assert mine == losses
    assert toggled.digest() == digest


@pytest.mark.parametrize("kind", KINDS)
def test_that_steps_with_it_on_and_the_state_restored_are_the_plain_run(kind: str) -> None:
    plain = Run(kind)
    losses = [plain.step().item().hex() for _ in range(6)]
    digest = plain.digest()
    toggled = Run(kind)
    mine = [toggled.step().item().hex() for _ in range(3)]
    saved, generator = snapshot(toggled), torch.get_rng_state()
    context = harness_of(toggled).context
    switch(context, "autocast", True, {})
    other = [toggled.step().item().hex() for _ in range(3)]
    switch(context, "autocast", False, {})
    for tensor, value in saved:
        with torch.no_grad():
            tensor.copy_(value)
    torch.set_rng_state(generator)
    mine += [toggled.step().item().hex() for _ in range(3)]
    assert mine == losses
    assert other != losses[3:]
    assert toggled.digest() == digest


@pytest.mark.parametrize("kind", KINDS)
def test_that_the_numerics_stay_within_what_is_said(kind: str) -> None:
    plain = Run(kind)
    plain.step()
    gradients = [p.grad.clone() for p in plain.model.parameters()]
    toggled = Run(kind)
    context = harness_of(toggled).context
    switch(context, "autocast", True, {"dtype": "bfloat16"})
    toggled.step()
    mine = [p.grad for p in toggled.model.parameters()]
    error = sum(float((a - b).norm() ** 2) for a, b in zip(mine, gradients, strict=True)) ** 0.5
    size = sum(float(b.norm() ** 2) for b in gradients) ** 0.5
    assert 0 < error / size < 0.1
    assert all(gradient.dtype is torch.float32 for gradient in mine)


def test_that_products_run_in_bfloat16_and_outputs_come_back_in_float32() -> None:
    run = Run("mlp")
    context = harness_of(run).context
    inside = []
    handle = run.model[0].register_forward_hook(lambda module, args, output: inside.append(output.dtype))
    switch(context, "autocast", True, {})
    assert run.model(torch.randn(2, 8)).dtype is torch.float32
    assert not torch.is_autocast_enabled("cpu")
    switch(context, "autocast", False, {})
    run.model(torch.randn(2, 8))
    handle.remove()
    assert inside == [torch.bfloat16, torch.float32]


def test_that_outputs_of_any_structure_keep_it() -> None:
    from collections import OrderedDict, namedtuple

    Pair = namedtuple("Pair", "a b")
    half, whole, number = torch.ones(2, dtype=torch.bfloat16), torch.ones(2), object()
    got = autocast._to_float32(
        {"x": Pair(half, [whole, number]), "y": OrderedDict(z=(half,))}, torch.bfloat16
    )
    assert isinstance(got["x"], Pair)
    assert got["x"].a.dtype is torch.float32
    assert got["x"].b[0] is whole
    assert got["x"].b[1] is number
    assert type(got["y"]) is OrderedDict
    untouched = {"x": [whole]}
    assert autocast._to_float32(untouched, torch.bfloat16) is untouched


def test_that_all_models_of_a_gan_are_switched_and_a_loss_module_is_not() -> None:
    first, second, criterion = nn.Linear(4, 4), nn.Linear(4, 1), nn.MSELoss()
    harness = Harness()
    for root in (first, second, criterion):
        harness.program.add_root(root)
    harness.program.refresh()
    switch(harness.context, "autocast", True, {})
    assert [isinstance(m.__dict__.get("forward"), ForwardChain) for m in (first, second, criterion)] == [
        True, True, False]  # fmt: skip
    all_off(harness.context)
    assert all("forward" not in m.__dict__ for m in (first, second))
    assert harness.context.variant == 0


def test_that_the_window_is_told_what_is_on() -> None:
    run = Run("mlp")
    harness = harness_of(run)
    harness.context.step = 12
    result = switch(harness.context, "autocast", True, {"dtype": "bfloat16"})
    assert result == {
        "name": "autocast", "on": True, "params": {"dtype": "bfloat16"}, "variant": "autocast-bf16",
    }  # fmt: skip
    (frame,) = harness.frames
    assert (frame.kind, frame.step, dict(frame.meta)) == ("toggle", 12, result)
    assert harness.context.interner.text(harness.context.variant) == "autocast-bf16"
    assert switch(harness.context, "autocast", True, {}) == result  # again: nothing happens
    assert len(harness.frames) == 1
    (listed,) = list_toggles(harness.context)
    assert listed["on"]
    assert listed["ok"]
    assert listed["params"][0]["choices"] == ["bfloat16", "float16"]
    assert "float16" in listed["params"][0]["refused"]
    switch(harness.context, "autocast", False, {})
    assert harness.frames[-1].meta["variant"] == ""


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"dtype": "float16"}, "slower"),
        ({"dtype": "int8"}, "must be one of"),
        ({"speed": "high"}, "no choice named"),
    ],
)
def test_that_a_bad_choice_is_refused_with_the_reason(params: dict, why: str) -> None:
    run = Run("mlp")
    harness = harness_of(run)
    before = fingerprint(run.model)
    with pytest.raises(ToggleError, match=why):
        switch(harness.context, "autocast", True, params)
    assert fingerprint(run.model) == before
    assert harness.frames == []
    assert not list_toggles(harness.context)[0]["on"]


def test_that_programs_it_does_not_suit_are_told_why(monkeypatch: pytest.MonkeyPatch) -> None:
    (listed,) = list_toggles(Harness().context)
    assert not listed["ok"]
    assert "No model" in listed["reason"]
    half = Harness(nn.Linear(2, 2).bfloat16())
    with pytest.raises(ToggleError, match="float32"):
        switch(half.context, "autocast", True, {})
    with pytest.raises(ToggleError, match="no optimisation named"):
        switch(half.context, "magic", True, {})
    monkeypatch.setattr(autocast, "uses_compile", lambda: True)
    whole = Harness(nn.Linear(2, 2))
    with pytest.raises(ToggleError, match=r"torch\.compile"):
        switch(whole.context, "autocast", True, {})


def test_that_an_error_while_switching_leaves_the_program_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = nn.Linear(4, 4), nn.Linear(4, 1)
    harness = Harness()
    for root in (first, second):
        harness.program.add_root(root)
    harness.program.refresh()
    real = ForwardChain.add

    def add(self, *args) -> None:
        if self._module() is second:
            raise RuntimeError("mine")
        real(self, *args)

    monkeypatch.setattr(ForwardChain, "add", add)
    with pytest.raises(RuntimeError, match="mine"):
        switch(harness.context, "autocast", True, {})
    assert "forward" not in first.__dict__
    assert "forward" not in second.__dict__
    assert harness.context.toggles == {}
    assert harness.frames == []


def test_that_an_autocast_without_effect_is_an_error() -> None:
    with pytest.raises(ToggleError, match="no effect"):
        autocast._probe("cpu", torch.float64)  # torch only warns, and goes on in float32


def test_that_layers_leave_in_any_order_and_nest_by_their_order() -> None:
    module = nn.Linear(2, 2)
    before = dict(module.__dict__)
    seen = []

    def layer(name):
        def run(inside, args, kwargs):
            seen.append(name)
            return inside(*args, **kwargs)

        return run

    for leaving in (["a", "b"], ["b", "a"]):
        seen.clear()
        ForwardChain.of(module).add("a", 30, layer("outer"))
        ForwardChain.of(module).add("b", 10, layer("inner"))
        module(torch.ones(1, 2))
        assert seen == ["outer", "inner"]
        for name in leaving:
            ForwardChain.of(module).remove(name)
        assert module.__dict__ == before


def test_that_a_forward_patched_by_the_user_comes_back_and_stays_inside() -> None:
    module = nn.Linear(2, 2)

    def patched(x):
        return torch.zeros(3)

    module.forward = patched
    chain = ForwardChain.of(module)
    chain.add("a", 1, lambda inside, args, kwargs: inside(*args, **kwargs) + 1)
    assert torch.equal(module(torch.ones(1, 2)), torch.ones(3))
    chain.remove("a")
    assert module.__dict__["forward"] is patched


def test_that_who_wraps_ours_keeps_theirs_when_we_leave() -> None:
    module = nn.Linear(2, 2)
    chain = ForwardChain.of(module)
    chain.add("a", 1, lambda inside, args, kwargs: inside(*args, **kwargs) * 0)
    ours = module.forward
    module.forward = lambda x: ours(x) + 1
    chain.remove("a")
    x = torch.ones(1, 2)
    assert torch.equal(module(x), nn.Linear.forward(module, x) + 1)


def test_that_copies_and_pickles_of_a_switched_model_are_plain_ones_of_their_own() -> None:
    run = Run("mlp")
    context = harness_of(run).context
    switch(context, "autocast", True, {})
    assert list(inspect.signature(run.model.forward).parameters) == ["input"]
    copied = copy.deepcopy(run.model)
    buffer = io.BytesIO()
    torch.save(run.model, buffer)
    buffer.seek(0)
    loaded = torch.load(buffer, weights_only=False)
    run.model.eval(), copied.eval(), loaded.eval()
    with torch.no_grad():
        copied[0].weight.zero_()
        x = torch.randn(2, 8)
        assert copied(x)[0].equal(copied(x)[1])  # its own weights: every row is the same
        assert not run.model(x)[0].equal(run.model(x)[1])
        switch(context, "autocast", False, {})
        assert torch.equal(loaded(x), run.model(x))
