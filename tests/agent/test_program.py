"""Names of modules and tensors, whatever the modules do."""

from __future__ import annotations

import torch

from tensorscope.agent.program import Program


class Stubborn(torch.nn.Linear):
    def __getattr__(self, name: str) -> object:
        if name == "_orig_mod":
            raise KeyError(name)
        return super().__getattr__(name)


class Unreadable(torch.nn.Linear):
    def named_modules(self, *args: object, **kwargs: object) -> object:
        raise RuntimeError("not for you")


def names(*roots: torch.nn.Module) -> set[str]:
    program = Program()
    for root in roots:
        program.add_root(root)
    program.refresh()
    return {name for name, role, _ in program.named_tensors() if role == "parameter"}


def test_that_a_module_whose_getattr_raises_anything_has_its_names() -> None:
    assert names(Stubborn(2, 2)) == {"weight", "bias"}


def test_that_a_module_that_cannot_be_read_takes_no_other_with_it() -> None:
    kept = [Unreadable(2, 2), torch.nn.Linear(2, 2)]
    assert {"Linear.weight", "Linear.bias"} <= names(*kept)


def test_that_optimizers_that_are_gone_are_forgotten() -> None:
    program, parameter = Program(), torch.nn.Parameter(torch.zeros(1))
    for _ in range(50):
        program.add_optimizer(torch.optim.SGD([parameter], lr=0.1))
    assert len(program._optimizers) <= 2
