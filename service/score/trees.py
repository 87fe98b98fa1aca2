"""Boosted trees as plain arrays: evaluated in microseconds, without the library that grew them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec


class Tree(msgspec.Struct, frozen=True, array_like=True):
    """One tree by node; node 0 is its root. A leaf has feature -1."""

    feature: list[int]
    threshold: list[float]
    """A value goes left when it is at most this."""
    missing_left: list[bool]
    left: list[int]
    right: list[int]
    value: list[float]
    """Of a leaf: what it adds to the sum."""


class Trees(msgspec.Struct, frozen=True, array_like=True):
    """A sum of trees."""

    base: float
    trees: list[Tree]

    def raw(self, x: Sequence[float]) -> float:
        """The sum for one row: any real number, larger is likelier. Not yet a probability."""
        total = self.base
        for tree in self.trees:
            node = 0
            feature = tree.feature
            while (at := feature[node]) >= 0:
                value = x[at]
                if value != value:  # NaN
                    node = tree.left[node] if tree.missing_left[node] else tree.right[node]
                else:
                    node = tree.left[node] if value <= tree.threshold[node] else tree.right[node]
            total += tree.value[node]
        return total


def problem_of(trees: Trees, features: int) -> str | None:
    """Why these trees can't be evaluated; None when they can."""
    if not math.isfinite(trees.base):
        return "the base is not finite"
    for tree in trees.trees:
        n = len(tree.feature)
        sizes = {len(getattr(tree, name)) for name in tree.__struct_fields__}
        if sizes != {n} or not n:
            return "the columns of a tree differ in length"
        for node in range(n):
            if tree.feature[node] < 0:
                if not math.isfinite(tree.value[node]):
                    return "a leaf is not finite"
            elif tree.feature[node] >= features:
                return f"feature {tree.feature[node]} of {features}"
            elif not (node < tree.left[node] < n and node < tree.right[node] < n):
                return "a child stands before its parent"  # and so a walk could go round for ever
    return None
