"""Names of the blocks that stay: which parameter, gradient or optimizer state lies in them."""

from __future__ import annotations

import numpy as np

from tensorscope.core.schema import CATEGORIES, ROLES
from tensorscope.models.session_store import SessionStore

LASTING = ("parameter", "gradient", "optimizer_state", "buffer")


def lasting_names(store: SessionStore) -> dict[tuple[int, int], str]:
    """Return the name of each (storage address, category) in the newest ``tensors`` record.

    Activations are left out: their addresses belong to other tensors a moment later.
    """
    records = store.records("tensors")
    if not records:
        return {}
    columns = records[-1].columns
    category_of = {ROLES.index(name): CATEGORIES.index(name) for name in LASTING}
    rows = np.flatnonzero(np.isin(columns["role"], list(category_of)) & (columns["storage"] != 0))
    names: dict[tuple[int, int], str] = {}
    for row in rows.tolist():
        key = int(columns["storage"][row]), category_of[int(columns["role"][row])]
        names.setdefault(key, store.string(int(columns["name"][row])))
    return names
