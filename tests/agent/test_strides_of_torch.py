"""The layout rules of the window beside torch's own answers, on real tensors."""

import numpy as np
import pytest
import torch

from tensorscope.compute.coverage import distinct_elems, runs_of
from tensorscope.compute.strides import LAYOUTS, Strided, elements_at, layouts

BASE = torch.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
TENSORS = {
    "whole": BASE,
    "scalar": BASE[0, 0, 0, 0],
    "row": BASE[1],
    "permuted": BASE.permute(3, 1, 0, 2),
    "transposed": BASE.transpose(1, 2),
    "channels_last": BASE.contiguous(memory_format=torch.channels_last),
    "channels_last_one_channel": BASE[:, :1].contiguous(memory_format=torch.channels_last),
    "channels_last_3d": BASE[:, :, None].contiguous(memory_format=torch.channels_last_3d),
    "columns": BASE[..., 1:4],
    "every_second": BASE[:, :, ::2, ::3],
    "expanded": BASE[:, :1].expand(2, 3, 4, 5),
    "windows": torch.arange(12).unfold(0, 4, 1),
    "diagonal": torch.arange(25).reshape(5, 5).diagonal(),
    "empty": BASE[:, :0],
    "as_strided": torch.arange(30).as_strided((3, 2, 2), (2, 3, 1), 4),
}


def found(tensor):
    sizes, strides = list(tensor.shape), list(tensor.stride())
    ndim = np.array([len(sizes)], np.uint8)
    return LAYOUTS[layouts(ndim, np.array(sizes, np.int64), np.array(strides, np.int64))[0]]


@pytest.mark.parametrize("name", TENSORS)
def test_that_layouts_agree_with_torch(name):
    tensor = TENSORS[name]
    layout = found(tensor)
    assert (layout in ("contiguous", "scalar")) == tensor.is_contiguous()
    if not tensor.is_contiguous() and tensor.dim() in (4, 5):
        form = torch.channels_last if tensor.dim() == 4 else torch.channels_last_3d
        assert (layout == "channels_last") == tensor.is_contiguous(memory_format=form)
    places = torch.arange(tensor.untyped_storage().nbytes() // tensor.element_size())
    read = places.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset()).flatten().tolist()
    shared = len(set(read)) < len(read)
    assert (layout in ("expanded", "overlapping")) == shared


@pytest.mark.parametrize("name", TENSORS)
def test_that_places_and_coverage_agree_with_what_torch_reads(name):
    tensor = TENSORS[name]
    strided = Strided(tuple(tensor.shape), tensor.stride(), tensor.storage_offset())
    size = tensor.untyped_storage().nbytes() // tensor.element_size()
    places = torch.arange(size).as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    assert distinct_elems(runs_of(strided)) == len(set(places.flatten().tolist()))
    for place in range(size):
        expected = (places == place).nonzero().tolist() if tensor.dim() else [[]] * int(places == place)
        assert sorted(elements_at(strided, place).tolist()) == sorted(expected)
