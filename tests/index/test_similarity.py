"""The arithmetic that every similarity goes through."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from index.similarity import cosine, nearest, nearest_few, rounded, unit_rows, unit_vector
from index.types import InvalidVector, Neighbor
from tests.index.vectors import labels, unit

# Any sign and magnitude that float32 holds, and many zeros.
finite = st.builds(
    lambda digits, exponent: digits * 10.0**exponent,
    st.integers(-9999, 9999),
    st.integers(-30, 30),
)
a_vector = hnp.arrays(np.float64, st.integers(1, 400), elements=finite).filter(np.any)


@given(a_vector)
def test_a_vector_is_at_exactly_one_from_itself(vector: np.ndarray) -> None:
    assert cosine(vector, vector) == 1.0


@given(a_vector)
def test_a_vector_is_at_exactly_minus_one_from_its_opposite(vector: np.ndarray) -> None:
    assert cosine(vector, -vector) == -1.0


@given(a_vector, st.floats(1e-3, 1e3))
def test_length_does_not_matter(vector: np.ndarray, factor: float) -> None:
    assert cosine(vector, vector * factor) == 1.0


@given(st.data())
def test_similarities_stay_in_range_and_are_symmetric(data: st.DataObject) -> None:
    a = data.draw(hnp.arrays(np.float64, 5, elements=finite).filter(np.any))
    b = data.draw(hnp.arrays(np.float64, 5, elements=finite).filter(np.any))
    assert -1.0 <= cosine(a, b) <= 1.0
    assert cosine(a, b) == cosine(b, a)


def test_raw_products_beyond_one_are_clipped_and_rounded() -> None:
    dots = np.array([1.0000002, 0.9999999, -1.0000002, 0.1234565, -1e-9], dtype=np.float32)
    assert rounded(dots).tolist() == pytest.approx([1.0, 1.0, -1.0, 0.123457, 0.0], abs=1e-12)


@given(
    st.lists(st.floats(-1.125, 1.125, width=32), max_size=12),
    st.integers(0, 12),
)
@example([1.0000001, 0.5, 0.5000001, -1e-9, 0.1234565], 4)
def test_a_few_are_ordered_as_many_are(dots: list[float], k: int) -> None:
    products = np.array(dots, dtype=np.float32)
    labels = [7 * n % 13 for n in range(len(dots))]
    many = nearest(np.array(labels, dtype=np.int64), rounded(products), k)
    assert nearest_few(labels, products.tolist(), k) == many


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_a_number_is_refused(bad: float) -> None:
    with pytest.raises(InvalidVector, match="NaN"):
        unit_rows([[1.0, bad]], 2)
    with pytest.raises(InvalidVector, match="NaN"):
        unit_vector(np.array([1.0, bad], dtype=np.float32), 2)


def test_a_vector_without_direction_is_refused() -> None:
    with pytest.raises(InvalidVector, match="length 0"):
        unit_rows([[1.0, 0.0], [0.0, 0.0]], 2)


@pytest.mark.parametrize("shape", [(3,), (1, 3), (0,), (2, 2, 2)])
def test_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidVector, match="shape"):
        unit_vector(np.ones(shape, dtype=np.float32), 2)


def test_normalising_copies() -> None:
    rows = unit(np.random.default_rng(0), 3, 4)
    result = unit_rows(rows, 4)
    result[0] = 0
    assert rows[0].any()


def test_nearest_first_and_the_smaller_label_on_a_tie() -> None:
    found = nearest(labels(9, 4, 7, 1), np.array([0.5, 0.9, 0.9, 0.1]), 3)
    assert found == [Neighbor(4, 0.9), Neighbor(7, 0.9), Neighbor(9, 0.5)]
