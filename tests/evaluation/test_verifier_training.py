"""Training a verifier: parts that share no text, the bundled weights there and back, a folder that a line can use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.desk import desk_of
from evaluation.score import verifier_training as training
from evaluation.score import verifier_trial
from evaluation.score.verifier_training import Reviewed, acceptance, parts_of, platt
from index.embedding import bundled, minilm
from index.embedding.bert_onnx import PairHead
from index.embedding.cross_encoder import open_folder
from index.embedding.weights import dense
from tests.command import surehit
from tests.evaluation.desks import logged
from tests.harness import Client, Clock, running

PAIRS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=40)
THINGS = ("invoice", "parcel", "password", "voucher", "account", "printer", "router", "camera")


@given(PAIRS)
def test_no_text_is_in_two_parts(numbers: list[tuple[int, int]]) -> None:
    texts = [(f"stored {a}", f"asked {b}") for a, b in numbers]
    part = parts_of(texts)
    where: dict[str, int] = {}
    for pair, n in zip(texts, part.tolist(), strict=True):
        for text in pair:
            assert where.setdefault(text, n) == n


def test_parts_have_their_shares_where_groups_are_small() -> None:
    part = parts_of([(f"a{i // 3}", f"b{i}") for i in range(300)])
    assert np.bincount(part).tolist() == [180, 60, 60]


def test_platt_finds_the_odds_and_never_turns_a_model_upside_down() -> None:
    rng = np.random.default_rng(0)
    odds = rng.normal(0, 3, 4_000)
    good = rng.random(4_000) < 1 / (1 + np.exp(-(0.5 * odds - 1)))
    said = 1 / (1 + np.exp(-odds))
    said[:10] = np.nan
    slope, offset = platt(said, good, np.ones(4_000))
    assert (slope, offset) == (pytest.approx(0.5, abs=0.05), pytest.approx(-1, abs=0.15))
    slope, offset = platt(said, ~good, np.ones(4_000))
    assert 0 < slope < 1e-3
    assert 1 / (1 + np.exp(-offset)) == pytest.approx(1 - good[10:].mean())


def test_what_is_accepted_keeps_the_target_by_its_own_account() -> None:
    said = np.asarray([0.99, 0.5, 0.97, 0.9, np.nan])
    one = np.ones(5)
    assert acceptance(said, one, 0.021) == 0.97
    assert acceptance(said, one, 0.051) == 0.9
    assert acceptance(said, np.asarray([9.0, 1, 1, 1, 1]), 0.061) == 0.5
    assert acceptance(np.asarray([0.6]), one[:1], 0.03) == 0.97


def test_untrained_weights_come_back_and_the_file_computes_what_torch_does(tmp_path: Path) -> None:
    torch: Any = pytest.importorskip("torch")
    start = minilm.read_weights(bundled.MINILM.source.checked())
    encoder = training._encoder(start)
    back = training._weights(encoder, start)
    for old, new in zip(start.layers, back.layers, strict=True):
        for name, matrix in old.matrices.items():
            assert np.array_equal(dense(matrix), dense(new.matrices[name]))
    head = PairHead(np.random.default_rng(0).normal(0, 1, 384).astype(np.float32), 0.25)
    tokenizer = training.pair_tokenizer()
    training.write(tmp_path / "v", back, head, tokenizer)
    pair = ("how do I reset my password", "password reset, please")
    ids = torch.tensor([training._ids(tokenizer, *pair)])
    encoder.eval()
    with torch.no_grad():
        hidden = encoder(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
    odds = float(hidden[0].mean(0) @ torch.tensor(head.weight)) + head.bias
    said = open_folder(tmp_path / "v").probability(*pair)
    assert np.log(said / (1 - said)) == pytest.approx(odds, abs=0.001)


def questions(n: int, *, first: int = 0) -> tuple[list[tuple[str, str]], list[bool]]:
    """Pairs of questions about one thing (good) or two (bad), numbered from `first` on: no number comes twice."""
    rng = np.random.default_rng(first)
    texts, good = [], []
    for i in range(first, first + n):
        a, b = rng.choice(len(THINGS), 2, replace=False)
        is_good = bool(i % 2)
        asked = THINGS[a] if is_good else THINGS[b]
        texts.append((f"where is my {THINGS[a]} {i}", f"I am looking for my {asked} {i}"))
        good.append(is_good)
    return texts, good


def test_labels_of_one_verdict_train_nothing(tmp_path: Path) -> None:
    texts, _ = questions(200)
    one, part = np.ones(200), parts_of(texts)
    with pytest.raises(ValueError, match="both verdicts"):
        training.train(Reviewed(texts, one > 0, one, part), tmp_path / "w")


@pytest.mark.parametrize(
    ("bad", "part", "missing"),
    [
        ([], [], 400),
        ([True, False] * 200, [0] * 240 + [1] * 80 + [2] * 80, 0),
        ([True, False] * 100, [0] * 120 + [1] * 40 + [2] * 40, 200),
        ([True] + [False] * 399, [0] * 240 + [1] * 80 + [2] * 80, 15_600),
    ],
)
def test_missing_labels_are_counted(bad: list[bool], part: list[int], missing: int) -> None:
    found = verifier_trial.labels_missing(np.asarray(bad, dtype=np.bool_), np.asarray(part))
    assert found == missing


async def judged(client: Client, n: int) -> None:
    texts, good = questions(n)
    rng = np.random.default_rng(1)
    verdict = ["reusable" if g else "not_reusable" for g in good]
    await logged(client, rng.uniform(0.7, 0.9, n).tolist(), verdict, texts=texts)


async def test_a_line_gets_a_verifier_from_its_labels_and_may_use_it(
    sqlite_url: str, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    async with running(sqlite_url, tmp_path, clock=Clock()) as client:
        await client.line(mode="shadow")
        await judged(client, 440)
        desk = desk_of(client.cache)
        policy = await desk.policy("default", "faq")
        folder = tmp_path / "verifiers" / "first"
        found = await verifier_trial.train_for(desk, policy, folder=folder)
        assert (found.labels, found.missing) == ((264, 88, 88), None)
        assert found.comparison is not None
        assert found.comparison.is_better  # cosines are chance here, the words are not
        assert found.rule is not None
        unseen, good = questions(100, first=440)
        said = training.probabilities(open_folder(folder), unseen)
        assert ((said > 0.5) == good).mean() > 0.9
        told = found.as_dict()["verifier"]
        assert found.rule.digest in found.sentence()
        reply = await client.call("PATCH", "/v1/lines/faq", {"verifier": told})
        assert reply.status_code == 200, reply.text
        with pytest.raises(Exception, match="is taken"):
            await verifier_trial.train_for(desk, policy, folder=folder)
        await client.call("PATCH", "/v1/lines/faq", {"language": "zh"})
        policy = await desk.policy("default", "faq")
        with pytest.raises(Exception, match="language"):
            await verifier_trial.train_for(desk, policy, folder=tmp_path / "other")


def test_the_command_says_how_many_labels_are_missing(tmp_path: Path) -> None:
    assert surehit(tmp_path, "line", "set", "faq", "mode=shadow").returncode == 0
    done = surehit(tmp_path, "score", "train-verifier", "faq")
    assert done.returncode == 1, done.stderr
    assert "400 more labels" in done.stdout
    assert not (tmp_path / "verifiers").exists()
    assert surehit(tmp_path, "score", "train-verifier", "none").returncode == 2
    assert surehit(tmp_path, "score", "train-verifier", "faq", "--name", "../x").returncode == 2
