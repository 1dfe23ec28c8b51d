"""Mixed precision: matrix products and convolutions in bfloat16, parameters and loss in float32."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import torch

from tensorscope.agent.capture.compiled import uses_compile
from tensorscope.agent.context import Context
from tensorscope.agent.toggles.forward_chain import ForwardChain
from tensorscope.agent.toggles.toggle import Param, Toggle, ToggleError, Undo, Verdict

ORDER = 20
"""Place in the forward chain: outside checkpointing, inside layout changes."""
_SHORT = {"bfloat16": "bf16", "float16": "fp16"}


class Autocast(Toggle):
    """Runs the forward of every root under `torch.autocast`.

    What the program computes outside its models (mostly the loss) stays as it was: outputs are given
    back in float32. Autocast keeps nothing between two forwards, so that leaving it out again is
    an exact return.
    """

    name = "autocast"
    title = "Mixed precision (autocast)"

    def params(self, context: Context) -> list[Param]:
        """Return the choice of the lower precision."""
        refused = {"float16": _refuse_float16(_device_of(_roots(context)))}
        return [Param("dtype", ("bfloat16", "float16"), "bfloat16", refused)]

    def applies(self, context: Context) -> Verdict:
        """Say whether there is something that autocast would change."""
        roots = _roots(context)
        if not roots:
            return Verdict(False, "No model with parameters has been seen in this program yet.")
        if any(isinstance(root, torch.jit.ScriptModule) for root in roots):
            return Verdict(False, "A model is a TorchScript module, whose forward cannot be wrapped.")
        if uses_compile():
            return Verdict(
                False,
                "The program uses torch.compile. Switching would compile it again in the middle of the run; "
                "put torch.autocast around the forward in the script instead.",
            )
        if not any(p.dtype is torch.float32 for root in roots for p in root.parameters()):
            return Verdict(False, "No parameter is float32, so there is nothing that autocast would lower.")
        device = _device_of(roots)
        if device not in ("cpu", "cuda"):
            return Verdict(False, f"The parameters are on {device!r}; only the CPU and CUDA are supported.")
        if device == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
            return Verdict(False, "This GPU has no bfloat16 units.")
        return Verdict(True)

    def enable(self, context: Context, params: dict[str, str]) -> Undo:
        """Put a layer into the forward of every root that owns parameters."""
        roots = _roots(context)
        device, dtype = _device_of(roots), getattr(torch, params["dtype"])
        _probe(device, dtype)
        layer = _layer(device, dtype)
        chains: list[ForwardChain] = []

        def undo() -> None:
            for chain in chains:
                chain.remove(self.name)

        try:
            for root in roots:
                chain = ForwardChain.of(root)
                chains.append(chain)
                chain.add(self.name, ORDER, layer)
        except BaseException:
            undo()
            raise
        return undo

    def variant(self, params: dict[str, str]) -> str:
        """Return "autocast-bf16" and the like."""
        return f"{self.name}-{_SHORT[params['dtype']]}"

    def explain(self, context: Context) -> str:
        """Return what autocast does and how well this machine suits it."""
        text = (
            "Matrix products, convolutions and attention inside each model's forward run in bfloat16; "
            "parameters, gradients, optimizer and everything outside the models (the loss) stay float32. "
            "Activations saved for backward take half the memory. bfloat16 has 8 bits of precision: expect "
            "gradients to differ by about 0.4 % (transformer) to 8 % (batch norm), a loss by 0.02 % at most. "
        )
        if _device_of(_roots(context)) == "cpu" and not _cpu_has_bfloat16():
            text += "This CPU has no bfloat16 instructions, so it will probably be slower here."
        return text


def _roots(context: Context) -> list[Any]:
    """Return the models: roots with parameters. A loss module called by itself is none."""
    return [root for root in context.program.roots if next(root.parameters(), None) is not None]


def _device_of(roots: list[Any]) -> str:
    first = next((parameter for root in roots for parameter in root.parameters()), None)
    return first.device.type if first is not None else "cpu"


def _refuse_float16(device: str) -> str:
    if device == "cpu":
        return (
            "on the CPU it was measured slower than float32 (0.84 times the speed on a transformer, 0.003 "
            "times on a convolutional net), and small gradients underflow. Use bfloat16."
        )
    return (
        "its gradients underflow without a gradient scaler, which this training loop would have to call. "
        "Use bfloat16."
    )


def _probe(device: str, dtype: torch.dtype) -> None:
    """Make sure that autocast does what it is asked: it may switch itself off with only a warning."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        one = torch.ones(1, 1, device=device)
        with torch.autocast(device, dtype=dtype):
            got = torch.mm(one, one).dtype
    if got is not dtype:
        raise ToggleError(f"torch.autocast on {device} in {dtype} has no effect here: products stay {got}.")


def _layer(device: str, dtype: torch.dtype) -> Callable[..., Any]:
    def autocast_layer(inside: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with torch.autocast(device, dtype=dtype):
            output = inside(*args, **kwargs)
        return _to_float32(output, dtype)

    return autocast_layer


def _to_float32(value: Any, dtype: torch.dtype) -> Any:
    """Return `value` with its tensors of `dtype` as float32, itself if there are none."""
    if isinstance(value, torch.Tensor):
        return value.float() if value.dtype is dtype else value
    if isinstance(value, Mapping):
        items = {key: _to_float32(item, dtype) for key, item in value.items()}
        same = all(items[key] is item for key, item in value.items())
        return value if same else type(value)(items)  # type: ignore[call-arg]
    if isinstance(value, (tuple, list)):
        parts = [_to_float32(item, dtype) for item in value]
        if all(new is old for new, old in zip(parts, value, strict=True)):
            return value
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def _cpu_has_bfloat16() -> bool:
    try:
        return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
    except AttributeError:
        return True  # an older torch cannot tell
