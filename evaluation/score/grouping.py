"""Texts that belong together because pairs join them, directly or over others.

Reference: Tarjan (1975), Efficiency of a Good But Not Linear Set Union Algorithm.
"""

from __future__ import annotations


class Groups:
    """Groups of texts; each text begins in one of its own."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def root(self, text: str) -> str:
        """The text that stands for the group of this one."""
        parent = self._parent
        parent.setdefault(text, text)
        while parent[text] != text:
            parent[text] = parent[parent[text]]
            text = parent[text]
        return text

    def join(self, one: str, other: str) -> None:
        """Make one group of the groups of two texts."""
        self._parent[self.root(one)] = self.root(other)
