"""Decides which Chinese words count as common, and writes them as one compact file.

Run by hand when the choice below changes; the written file is what the product ships:

    python -m service.guards.lexicon.from_jieba DICT.txt OUT.txt.gz

`DICT.txt` is the dictionary of jieba 0.42.1 (Sun Junyi, MIT; its licence text is in `JIEBA_LICENSE`
beside this file): one `word count part-of-speech` a line.
"""

import gzip
import sys
from pathlib import Path

LEAST_COUNT = 50
"""In the dictionary's corpus; what is rarer may be anybody's name."""
LONGEST = 4
_NAMES = ("nr", "ns", "nt", "nz")
"""Parts of speech that are names: persons, places, organisations, others."""


def main() -> None:
    """Read the dictionary named first and write the word list named second."""
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    words = set()
    for line in source.read_text("utf-8").splitlines():
        word, count, part = line.split()
        plain = all("\u4e00" <= char <= "\u9fff" for char in word)
        if (
            1 < len(word) <= LONGEST
            and plain
            and int(count) >= LEAST_COUNT
            and not part.startswith(_NAMES)
        ):
            words.add(word)
    # mtime=0: the same input must give the same bytes
    target.write_bytes(gzip.compress("\n".join(sorted(words)).encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
