"""Decides what the guards take from WordNet, and writes it as one compact file.

Run by hand when the choice below changes; the written file is what the product ships:

    python -m service.guards.lexicon.from_wordnet DICT_DIR OUT.txt.gz

`DICT_DIR` holds the `data.*` and `index.sense` files of WordNet 3.1 (Princeton
University, "WordNet 3.1", 2011; its licence text is in `WORDNET_LICENSE` beside this file).
"""

import gzip
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

POS = {"noun": "1", "verb": "2", "adj": "3", "adv": "4"}
SYNONYM_MAX_SENSE = {"noun": 2, "verb": 3, "adj": 2, "adv": 2}
"""Two lemmas count as synonyms only where both have the shared synset among their first senses:
rare senses join words that no asker would exchange."""
MOSTLY = 0.7
"""Share of its uses from which on a word counts as a noun."""
NEVER = (99, 0)
"""Rank and count of a sense that the index does not list."""


def main() -> None:
    """Read the dictionary folder named first and write the lexicon named second."""
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    lines = [*_words(source), *_synonyms(source), *_antonyms(source)]
    # mtime=0: the same input must give the same bytes
    target.write_bytes(gzip.compress("\n".join(lines).encode(), 9, mtime=0))


def _synsets(source: Path, pos: str) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Yield (offset, lemmas as written, pointers) of each synset of one part of speech."""
    for line in (source / f"data.{pos}").read_text().splitlines():
        if line.startswith("  "):
            continue
        fields = line.split(" | ")[0].split()
        count = int(fields[3], 16)
        lemmas = [fields[4 + 2 * i].split("(")[0] for i in range(count)]
        start = 5 + 2 * count
        pointers = [
            fields[start + 4 * i : start + 4 * i + 4] for i in range(int(fields[start - 1]))
        ]
        yield fields[0], lemmas, pointers


def _sense_numbers(source: Path) -> dict[tuple[str, str, str], tuple[int, int]]:
    """Map (lemma, offset, part of speech) to the sense's rank (1 = most used) and text count."""
    numbers: dict[tuple[str, str, str], tuple[int, int]] = {}
    for line in (source / "index.sense").read_text().splitlines():
        key, offset, rank, count = line.split()
        lemma, _, rest = key.partition("%")
        digit = "3" if rest[0] == "5" else rest[0]
        numbers[lemma, offset, digit] = (int(rank), int(count))
    return numbers


def _words(source: Path) -> Iterator[str]:
    """Every lower-case word, and `c lemma` for those that are capitalised names too.

    `w lemma`: a word; `n lemma`: one that WordNet's texts mostly use as a noun; `r lemma`: one that
    they never use, and `m lemma`: such a one that is nothing but a noun.
    """
    lower: set[str] = set()
    upper: set[str] = set()
    for pos in POS:
        for _, lemmas, _ in _synsets(source, pos):
            for lemma in lemmas:
                if lemma.isalpha() and len(lemma) > 1:
                    (lower if lemma.islower() else upper).add(lemma)
    titled = {word.lower() for word in upper if word.istitle()}
    used: Counter[str] = Counter()
    as_noun: Counter[str] = Counter()
    parts: dict[str, set[str]] = {}
    for (lemma, _, digit), (_, count) in _sense_numbers(source).items():
        parts.setdefault(lemma, set()).add(digit)
        used[lemma] += count
        as_noun[lemma] += count if digit == POS["noun"] else 0
    for word in sorted(lower):
        noun = as_noun[word] > MOSTLY * used[word]
        rare = "m" if parts.get(word) == {POS["noun"]} else "r"
        yield f"{'n' if noun else 'w' if used[word] else rare} {word}"
    yield from (f"c {word}" for word in sorted(lower & titled))


def _synonyms(source: Path) -> Iterator[str]:
    """`s lemma lemma ...`: lemmas of one synset, multi-word lemmas with underscores."""
    numbers = _sense_numbers(source)
    groups = set()
    for pos, digit in POS.items():
        for offset, lemmas, _ in _synsets(source, pos):
            near = sorted(
                {
                    low
                    for low in (lemma.lower() for lemma in lemmas)
                    if numbers.get((low, offset, digit), NEVER)[0] <= SYNONYM_MAX_SENSE[pos]
                    and low.replace("_", "").isalpha()
                }
            )
            in_use = any(numbers.get((word, offset, digit), NEVER)[1] for word in near)
            if len(near) > 1 and in_use:
                groups.add(" ".join(near))
    yield from (f"s {group}" for group in sorted(groups))


def _antonyms(source: Path) -> Iterator[str]:
    """`a lemma lemma`: a pair of opposites, each pair once."""
    pairs = set()
    for pos in POS:
        by_offset = {offset: lemmas for offset, lemmas, _ in _synsets(source, pos)}
        for _, lemmas, pointers in _synsets(source, pos):
            for symbol, offset, _, ends in pointers:
                if symbol != "!":
                    continue
                left = lemmas[int(ends[:2], 16) - 1].lower()
                right = by_offset[offset][int(ends[2:], 16) - 1].lower()
                if left.isalpha() and right.isalpha():
                    pairs.add(" ".join(sorted((left, right))))
    yield from (f"a {pair}" for pair in sorted(pairs))


if __name__ == "__main__":
    main()
