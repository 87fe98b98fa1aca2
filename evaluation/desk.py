"""What reviewing, tuning and watching need of the product: rows, ids, a clock, the sampling key, model names."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import structlog

from evaluation.pair_scores import cosines, vectors_of
from index.embedding import catalog
from index.types import Embedder, EmbeddingError, Vector
from service.cache import Cache
from service.errors import NotFound, Unavailable
from service.guards import judge
from service.ids import IdSource
from service.journal import score_version
from service.policy import Policies, Policy
from service.remote_embedding import RemoteModels
from service.settings import Settings
from service.storage.database import Database
from service.verifiers import Verifiers

log = structlog.get_logger("surehit.evaluation")
MODEL_WAIT_S = 60.0


@dataclass(frozen=True)
class Desk:
    """The parts, the same for a route of the service and a command beside it."""

    db: Database
    new_id: Callable[[], int]
    clock_ms: Callable[[], int]
    key: bytes
    """Of the keyed draws: second opinions and gold items follow from it, so that nobody can foresee them."""
    fingerprint: Callable[[Policy], Awaitable[str]]
    """The embedding model of a line, as scores and labels name it."""
    vectors: Callable[[Policy, Sequence[str]], Awaitable[dict[str, Vector]]]
    """Vectors of texts by the model of a line; what it cannot read is missing. Raises Unavailable."""
    verifiers: Verifiers
    on_alarm: Callable[[str, str], None] = lambda tenant, line: None
    """Told of an alarm (tenant, line): the service counts it."""

    async def policy(self, tenant: str, line: str) -> Policy:
        """The line as it is in force; raises NotFound."""
        policy = await Policies(self.db).load(tenant, line)
        if policy is None:
            raise NotFound(f"line {line!r} does not exist")
        return policy

    async def cosines(self, policy: Policy, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        """Cosine of each pair of texts by the line's model; None where it cannot read one. Raises Unavailable."""
        return cosines(await self.vectors(policy, [t for pair in pairs for t in pair]), pairs)

    async def verify(
        self,
        policy: Policy,
        pairs: Sequence[tuple[str | None, str]],
        scores: Sequence[float | None],
    ) -> list[float | None]:
        """Scores of (stored, asked) pairs as the line's verifier leaves them; None also where it does not answer."""
        rule = policy.config.verifier
        found = list(scores)
        for i, ((stored, asked), score) in enumerate(zip(pairs, scores, strict=True)):
            if rule is None or stored is None or score is None or not rule.asks_about(score):
                continue
            if judge(stored, asked, enabled=policy.guards) is None:
                said = await self.verifiers.ask(rule, stored, asked, timeout_s=MODEL_WAIT_S)
                found[i] = None if said is None else rule.effective(score, said)
        return found

    async def score_version(self, policy: Policy) -> str:
        """The version that this line's scores have at present; raises Unavailable without its model."""
        return score_version(await self.fingerprint(policy), policy)


def desk_of(cache: Cache, *, on_alarm: Callable[[str, str], None] | None = None) -> Desk:
    """The desk of a running service."""

    async def embedder_of(policy: Policy) -> Embedder:
        name = cache.embedders.name_for(policy.config.language, policy.config.embedder)
        try:
            slot = await cache.embedders.ready(name, timeout_s=MODEL_WAIT_S)
        except EmbeddingError as error:
            raise Unavailable(f"embedder {name}: {error}") from error
        if slot.embedder is None:
            raise Unavailable(f"embedder {name} is not loaded")
        return slot.embedder

    return Desk(
        db=cache.db,
        new_id=cache.new_id,
        clock_ms=cache.clock_ms,
        key=cache.settings.sampling_secret(),
        fingerprint=_fingerprint_by(embedder_of),
        vectors=_vectors_by(embedder_of),
        verifiers=cache.verifiers,
        on_alarm=on_alarm or (lambda tenant, line: None),
    )


def desk_beside(db: Database, settings: Settings, clock_ms: Callable[[], int]) -> Desk:
    """The desk of a command that runs beside the service, on the same database."""
    known: dict[str, Embedder] = {}
    remote = RemoteModels(settings, db, clock_ms) if settings.embed_url else None
    default_for = remote.name_for if remote is not None else catalog.default_for

    async def load(name: str) -> Embedder:
        # as in the service: another model would give its scores another version
        if remote is not None:
            return await remote.load(name)
        return await asyncio.to_thread(catalog.load, name, settings.models_dir)

    async def embedder_of(policy: Policy) -> Embedder:
        name = policy.config.embedder or default_for(policy.config.language)
        if name not in known:
            try:
                known[name] = await load(name)
            except EmbeddingError as error:
                raise Unavailable(f"embedder {name}: {error}") from error
        return known[name]

    return Desk(
        db=db,
        new_id=IdSource(clock_ms),
        clock_ms=clock_ms,
        key=settings.sampling_secret(),
        fingerprint=_fingerprint_by(embedder_of),
        vectors=_vectors_by(embedder_of),
        verifiers=Verifiers(settings.verifiers_folder, budget_ms=settings.verify_budget_ms),
    )


_EmbedderOf = Callable[[Policy], Awaitable[Embedder]]


def _fingerprint_by(embedder_of: _EmbedderOf) -> Callable[[Policy], Awaitable[str]]:
    async def fingerprint(policy: Policy) -> str:
        return (await embedder_of(policy)).fingerprint

    return fingerprint


def _vectors_by(
    embedder_of: _EmbedderOf,
) -> Callable[[Policy, Sequence[str]], Awaitable[dict[str, Vector]]]:
    async def vectors(policy: Policy, texts: Sequence[str]) -> dict[str, Vector]:
        # beside the service this takes its time; inside it the model leaves the interpreter's lock while it runs
        return await asyncio.to_thread(vectors_of, await embedder_of(policy), texts)

    return vectors
