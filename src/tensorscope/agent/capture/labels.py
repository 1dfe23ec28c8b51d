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
    """One entry per named tensor. Where several share a storage, the first names it.

    Made at each step's end from every parameter, gradient and optimizer state, so what only a baseline
    needs (`names`, `storages`) is worked out when it is asked for.
    """

    def __init__(self, named: Iterable[tuple[str, str, Any]] = ()) -> None:
        kept = [entry for entry in named if entry[1] in NAMED_CATEGORIES]
        try:
            found = [tensor.untyped_storage() for _, _, tensor in kept]
            addresses = [storage.data_ptr() for storage in found]
        except _NO_STORAGE:
            addresses = [0]
        if 0 in addresses:
            kept, found = _with_memory(kept)
            addresses = [storage.data_ptr() for storage in found]
        self.addresses = array("Q", addresses)
        self.sizes = array("q", [storage.nbytes() for storage in found])
        self.categories = array("B", [NAMED_CATEGORIES[role] for _, role, _ in kept])
        self.devices = array("h", [tensor.get_device() for _, _, tensor in kept])
        self._names = [name for name, _, _ in kept]
        self._storages: list[Any] = found

    def __len__(self) -> int:
        return len(self.addresses)

    def add(
        self, address: int, size_bytes: int, category: int, device: int, name: str, owned: bool = False
    ) -> None:
        """Label memory that no storage is known for; `owned`: torch will report its free."""
        self.addresses.append(address)
        self.sizes.append(size_bytes)
        self.categories.append(category)
        self.devices.append(device)
        self._names.append(name)
        self._storages.append(OWNED if owned else 0)

    def names(self) -> dict[int, str]:
        """Return the name by address."""
        return dict(zip(reversed(self.addresses), reversed(self._names), strict=True))

    def storages(self) -> array[int]:
        """Return addresses of StorageImpl objects, by which native code asks whose memory it is.

        0 where it is not torch's, `OWNED` where it is and there is no need to ask.
        """
        return array("Q", [s if isinstance(s, int) else s._cdata for s in self._storages])


def storage_of(tensor: Any) -> Any | None:
    """Return the untyped storage of `tensor`, of its local part if distributed; None if not in memory."""
    try:
        storage = tensor.untyped_storage()
        if storage.data_ptr():
            return storage
    except _NO_STORAGE:
        pass
    local = getattr(tensor, "_local_tensor", None)  # of a DTensor
    return None if local is None else storage_of(local)


def _with_memory(named: list[tuple[str, str, Any]]) -> tuple[list[tuple[str, str, Any]], list[Any]]:
    """Return the entries whose tensors have memory, and their storages."""
    pairs = [(entry, storage_of(entry[2])) for entry in named]
    kept = [(entry, storage) for entry, storage in pairs if storage is not None]
    return [entry for entry, _ in kept], [storage for _, storage in kept]
