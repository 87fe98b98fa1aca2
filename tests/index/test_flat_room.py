"""What stays true of the exact index when it has been emptied."""

import numpy as np

from index.flat import FlatIndex


def test_nothing_is_unchanged_in_an_emptied_index() -> None:
    """Upkeep may ask for vectors that a purge has removed meanwhile, all of them."""
    index = FlatIndex(4)
    labels = np.arange(3, dtype=np.int64)
    vectors = np.eye(4, dtype=np.float32)[:3]
    index.add(labels, vectors)
    assert index.has_unchanged(labels, vectors).all()
    index.remove(labels)
    assert not index.has_unchanged(labels, vectors).any()
    assert not FlatIndex(4).has_unchanged(labels, vectors).any()
