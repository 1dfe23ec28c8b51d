"""Which storage holds which named tensor, as the allocator ledger wants it: arrays."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

from tensorscope.core.schema import CATEGORIES

NAMED_CATEGORIES = {
    role: CATEGORIES.index(role) for role in ("parameter", "gradient", "optimizer_state", "buffer")
}


class Labels:
    """One entry per storage; where several tensors share one, the first names it."""

    def __init__(self) -> None:
        self.addresses = array("Q")
        self.sizes = array("q")
        self.categories = array("B")
        self.devices = array("h")
        self.storages = array("Q")
        """Addresses of the StorageImpl objects, by which native code asks whose memory it is."""
        self.names: dict[int, str] = {}
        """Name by address."""

    def __len__(self) -> int:
        return len(self.addresses)

    def add(
        self, address: int, size_bytes: int, category: int, device: int, name: str, impl: int = 0
    ) -> None:
        """Label a storage, unless it has no memory or has a label."""
        if not address or not size_bytes or address in self.names:
            return
        self.names[address] = name
        self.addresses.append(address)
        self.sizes.append(size_bytes)
        self.categories.append(category)
        self.devices.append(device)
        self.storages.append(impl)


def collect_labels(named: Iterable[tuple[str, str, Any]]) -> Labels:
    """Return the labels of (name, role, tensor) triples; tensors without storage are left out."""
    labels = Labels()
    for name, role, tensor in named:
        category = NAMED_CATEGORIES.get(role)
        if category is None:
            continue
        storage = storage_of(tensor)
        if storage is not None:
            labels.add(
                storage.data_ptr(), storage.nbytes(), category, device_index(tensor), name, storage._cdata
            )
    return labels


def storage_of(tensor: Any) -> Any | None:
    """Return the untyped storage of `tensor` if it has real memory, of its local part if distributed."""
    local = getattr(tensor, "_local_tensor", tensor)
    try:
        storage = local.untyped_storage()
        storage.data_ptr()
    except (RuntimeError, NotImplementedError, AttributeError):
        return None  # sparse, fake, functional, meta, ...
    return storage


def device_index(tensor: Any) -> int:
    """Return -1 for the CPU, else the index of the accelerator."""
    device = tensor.device
    return -1 if device.type in ("cpu", "meta") else (device.index or 0)
