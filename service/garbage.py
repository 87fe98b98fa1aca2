"""The garbage collector passes over what stays for good (CPython's, which looks at every object in a full round).

Libraries, word lists and models are 300,000 objects; a round over them takes 0.2 to 0.5 s, and one comes each time a
quarter has been added, as by caches that fill. No request is answered meanwhile. Set aside (`gc.freeze`), they are not
looked at again. Young objects are collected as ever.

Reference: Python documentation, `gc`.
"""

from __future__ import annotations

import gc
import threading

_LOADED_S = 10.0
"""After this, models and word lists are loaded, as a rule."""
_FULL_AFTER = 100
"""Rounds over middle-aged objects before a full one is considered; Python's default is 10."""


def settle() -> None:
    """Set aside what is loaded now, and once more what is loaded soon after."""
    gc.collect()
    gc.freeze()
    youngest, middle, _ = gc.get_threshold()
    gc.set_threshold(youngest, middle, _FULL_AFTER)
    # without a round before: that would be such a pause itself
    later = threading.Timer(_LOADED_S, gc.freeze)
    later.daemon = True
    later.start()
