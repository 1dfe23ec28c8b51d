"""Which storage holds which named tensor, as the allocator ledger wants it: arrays."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

from tensorscope.core.schema import CATEGORIES

NAMED_CATEGORIES = {
    role: CATEGORIES.index(role) for role in ("parameter", "gradient", "optimizer_state", "buffer")
}

OWNED = 1
_NO_STORAGE = (RuntimeError, NotImplementedError, AttributeError)  # sparse, fake, functional, ...


class Labels:
    """One entry per storage; where several tensors share one, the first names it."""

    def __init__(self) -> None:
        self.addresses = array("Q")
        self.sizes = array("q")
        self.categories = array("B")
        self.devices = array("h")
        self.storages = array("Q")
        """Addresses of the StorageImpl objects, by which native code asks whose memory it is; 0 where it
        is not torch's, `OWNED` where it is without need to ask."""
        self.names: dict[int, str] = {}
        """Name by address."""

    def __len__(self) -> int:
        return len(self.addresses)

    def add(
        self, address: int, size_bytes: int, category: int, device: int, name: str, owned: bool = False
    ) -> None:
        """Label memory that no storage is known for; `owned`: torch will report its free."""
        if not address or not size_bytes or address in self.names:
            return
        self.names[address] = name
        self.addresses.append(address)
        self.sizes.append(size_bytes)
        self.categories.append(category)
        self.devices.append(device)
        self.storages.append(OWNED if owned else 0)


def collect_labels(named: Iterable[tuple[str, str, Any]]) -> Labels:
    """Return the labels of (name, role, tensor) triples; tensors without storage are left out.

    Runs at each step's end for every parameter, gradient and optimizer state: 1 us each matters.
    """
    labels = Labels()
    names, addresses, sizes = labels.names, labels.addresses, labels.sizes
    categories, devices, storages = labels.categories, labels.devices, labels.storages
    for name, role, tensor in named:
        category = NAMED_CATEGORIES.get(role)
        if category is None:
            continue
        try:
            storage = tensor.untyped_storage()
            address, size = storage.data_ptr(), storage.nbytes()
        except _NO_STORAGE:
            storage = storage_of(tensor)
            if storage is None:
                continue
            address, size = storage.data_ptr(), storage.nbytes()
        if not address or not size or address in names:
            continue
        names[address] = name
        addresses.append(address)
        sizes.append(size)
        categories.append(category)
        devices.append(tensor.get_device())
        storages.append(storage._cdata)
    return labels


def storage_of(tensor: Any) -> Any | None:
    """Return the untyped storage of `tensor`, of its local part if distributed; None if not in memory."""
    try:
        storage = tensor.untyped_storage()
        storage.data_ptr()
    except _NO_STORAGE:
        local = getattr(tensor, "_local_tensor", None)  # of a DTensor
        return None if local is None else storage_of(local)
    return storage
