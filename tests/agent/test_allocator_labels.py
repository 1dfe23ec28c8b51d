from __future__ import annotations

import torch

from tensorscope.agent.capture.labels import Labels
from tensorscope.core.schema import CATEGORIES


def test_that_tensors_without_memory_are_left_out_and_the_rest_keep_their_places() -> None:
    weight, state = torch.ones(4), torch.ones(2, dtype=torch.float64)
    labels = Labels(
        [
            ("weight", "parameter", weight),
            ("meta", "buffer", torch.ones(3, device="meta")),
            ("sparse", "gradient", torch.eye(3).to_sparse()),
            ("empty", "buffer", torch.ones(0)),
            ("saved", "saved", torch.ones(9)),
            ("state", "optimizer_state", state),
        ]
    )
    kept = [weight.untyped_storage(), state.untyped_storage()]
    assert labels.addresses.tolist() == [storage.data_ptr() for storage in kept]
    assert labels.sizes.tolist() == [16, 16]
    assert [CATEGORIES[category] for category in labels.categories] == ["parameter", "optimizer_state"]
    assert labels.devices.tolist() == [-1, -1]
    assert labels.storages().tolist() == [storage._cdata for storage in kept]
    assert labels.names() == {kept[0].data_ptr(): "weight", kept[1].data_ptr(): "state"}


def test_that_the_first_of_several_tensors_in_a_storage_names_it() -> None:
    whole = torch.ones(8)
    labels = Labels([("whole", "parameter", whole), ("part", "buffer", whole[2:])])
    assert labels.names() == {whole.data_ptr(): "whole"}
