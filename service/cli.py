"""The `surehit` command. Those of other packages join through the entry points `surehit.commands`, under their names.

Exit code 0 is yes, 1 is «the answer is no», 2 is misuse or a fault.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
import tomllib
from collections.abc import Awaitable, Callable
from importlib.metadata import entry_points, version
from typing import Annotated, Any, TypeVar

for _pool in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    # before numpy is imported: thread pools larger than the free cores make everything slower
    os.environ.setdefault(_pool, "1")

import orjson
import typer
from pydantic import ValidationError
from pydantic_settings import SettingsError

from service.errors import InvalidRequest, SurehitError
from service.settings import LOOPBACK, Settings

T = TypeVar("T")

app = typer.Typer(
    name="surehit",
    help="A response cache for LLM applications whose hits can be trusted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog="Settings come from SUREHIT_… variables or a surehit.toml: "
    + ", ".join(f"SUREHIT_{name.upper()}" for name in Settings.model_fields),
)
line_app = typer.Typer(help="Business lines: list, show, set.", no_args_is_help=True)
key_app = typer.Typer(help="API keys: create, list, revoke.", no_args_is_help=True)
app.add_typer(line_app, name="line")
app.add_typer(key_app, name="key")

Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
Tenant = Annotated[str, typer.Option(help="Tenant.")]


def main() -> None:
    """Entry of the console script."""
    _join(sys.argv[1] if len(sys.argv) > 1 else "")
    try:
        app()
    except SurehitError as error:
        fail(error.detail)
    except ValidationError as error:
        told = ((str(e["loc"][0]), e["msg"].removeprefix("Value error, ")) for e in error.errors())
        fail("; ".join(f"SUREHIT_{name.upper()}: {message}" for name, message in told))
    except tomllib.TOMLDecodeError as error:
        fail(f"surehit.toml: {error}")
    except SettingsError as error:  # a variable that should hold JSON
        fail(str(error))
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        fail(f"{error.filename}: {error.strerror}")


def _join(asked: str) -> None:
    """Let the package join that has the command asked for; all of them for help and for a word that nobody knows."""
    groups = {group.name for group in app.registered_groups}
    ours = groups | {c.name or c.callback.__name__ for c in app.registered_commands if c.callback}
    if asked in ours:
        return
    points = entry_points(group="surehit.commands")
    wanted = [point for point in points if point.name == asked] or points
    for module, name in sorted({(point.module, point.attr) for point in wanted}):
        getattr(importlib.import_module(module), name)(app)


def fail(message: str, code: int = 2) -> None:
    """Say why on stderr and end."""
    typer.secho(message, err=True, fg=typer.colors.RED if code == 2 else None)
    raise SystemExit(code)


def show(value: Any, *, as_json: bool, text: Callable[[Any], str]) -> None:
    """Print as JSON or as text."""
    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() if as_json else text(value))


@app.command("version")
def show_version() -> None:
    """Print the version."""
    typer.echo(version("surehit"))


@app.command()
def migrate(
    check: Annotated[bool, typer.Option(help="Only say whether the schema is current.")] = False,
) -> None:
    """Bring the database to the newest schema, and with SUREHIT_SEARCH=pgvector make its vectors searchable."""
    from service.storage import migrate as migrations

    settings = Settings()
    _data_dir(settings)
    head = migrations.head()
    if check:
        current = migrations.current(settings.database)
        typer.echo(f"database {current or 'empty'}, code {head}")
        raise SystemExit(0 if current == head else 1)
    migrations.upgrade(settings.database)
    if settings.search == "pgvector" and not settings.is_embedded:
        from service.storage import pgvector

        pgvector.prepare(settings.database, tell=typer.echo)
    typer.echo(f"schema {head}")


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port.")] = None,
    uds: Annotated[str | None, typer.Option(help="Unix socket instead of an address.")] = None,
) -> None:
    """Run the service: sidecar, proxy, metrics."""
    from service import serving

    given = {"host": host, "port": port, "uds": uds}
    settings = Settings(**{k: v for k, v in given.items() if v is not None})  # type: ignore[arg-type]
    serving.run(settings)


@app.command()
def up(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port of the service.")] = None,
    ui_port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port of the page.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Play demo traffic first.")] = False,
    page: Annotated[bool, typer.Option(help="Start the review page, too.")] = True,
) -> None:
    """Service and review page together, on the embedded default."""
    from service import up as both

    given = {"host": host, "port": port, "ui_port": ui_port}
    settings = Settings(**{k: v for k, v in given.items() if v is not None})  # type: ignore[arg-type]
    raise typer.Exit(both.run(settings, demo=demo, page=page))


@app.command()
def demo(
    url: Annotated[str | None, typer.Option(help="A running service.")] = None,
    key: Annotated[str, typer.Option(help="Its API key.", envvar="SUREHIT_KEY")] = "",
    as_json: Json = False,
) -> None:
    """Play demo traffic to a running service: questions, rewordings, look-alikes."""
    from service.demo import replay

    settings = Settings()
    base = url or f"http://{settings.host}:{settings.port}"
    told = replay.send(base, headers={"authorization": f"Bearer {key}"} if key else None)
    show(told.outcomes, as_json=as_json, text=lambda _: told.summary())


@line_app.command("list")
def line_list(tenant: Tenant = "default", as_json: Json = False) -> None:
    """All lines of a tenant."""
    from service.policy import Policies, describe
    from service.storage import lines as rows

    async def work(db: Any) -> list[dict[str, object]]:
        policies = Policies(db)
        found = [await policies.load(tenant, row[0]) for row in await rows.list_all(db, tenant)]
        return [describe(p) for p in found if p is not None]

    show(
        with_database(work),
        as_json=as_json,
        text=lambda v: "\n".join(map(_line_row, v)) or "no lines",
    )


@line_app.command("show")
def line_show(line: str, tenant: Tenant = "default", as_json: Json = False) -> None:
    """One line's settings."""
    from service.policy import Policies, describe

    async def work(db: Any) -> dict[str, object] | None:
        policy = await Policies(db).load(tenant, line)
        return describe(policy) if policy else None

    found = with_database(work)
    if found is None:
        fail(f"line {line!r} does not exist", 1)
    show(found, as_json=as_json, text=lambda v: "\n".join(f"{k:24} {w}" for k, w in v.items()))


@line_app.command("set")
def line_set(
    line: str,
    settings: Annotated[
        list[str],
        typer.Argument(help="field=value, JSON values; nested as sampling.certify_rate=0.1"),
    ],
    tenant: Tenant = "default",
    reason: Annotated[str, typer.Option(help="Why, for the record.")] = "",
    as_json: Json = False,
) -> None:
    """Create a line or change some of its settings, in force at once everywhere."""
    from service.app import wall_clock_ms
    from service.embedders import check_name
    from service.ids import IdSource
    from service.policy import LineChange, Policies, describe
    from service.storage import lines as rows
    from service.verifiers import Verifiers

    known, changes = Settings(), _assignments(settings)
    if isinstance(changes.get("embedder"), str) and not known.embed_url:
        check_name(changes["embedder"])
    changes = Verifiers(known.verifiers_folder, budget_ms=known.verify_budget_ms).pin(changes)

    async def work(db: Any) -> dict[str, object]:
        exists = await rows.get(db, tenant, line=line) is not None
        policy = await Policies(db).change(
            tenant,
            line,
            change=LineChange(changes, partial=exists, reason=reason),
            change_id=IdSource()(),
            by="cli",
            now=wall_clock_ms(),
        )
        return describe(policy)

    show(with_database(work), as_json=as_json, text=_line_row)


@key_app.command("create")
def key_create(
    tenant: Tenant = "default",
    name: Annotated[str, typer.Option(help="What the key is for.")] = "",
    role: Annotated[str, typer.Option(help="use, review or admin.")] = "use",
    max_stores_per_hour: Annotated[int | None, typer.Option(min=1, help="Insert cap.")] = None,
    as_json: Json = False,
) -> None:
    """Make an API key and print it once."""
    from service import lines
    from service.app import wall_clock_ms
    from service.auth import new_key
    from service.ids import IdSource
    from service.storage import audit_events, tenants
    from service.storage.database import Transaction

    if role not in ("use", "review", "admin"):
        raise InvalidRequest.field("role", "must be use, review or admin")
    lines.check_name("tenant", tenant)
    text, key_hash, key_id = new_key()

    def add(tx: Transaction) -> None:
        now = wall_clock_ms()
        tenants.add_key(
            tx,
            tenant,
            key_id=key_id,
            key_hash=key_hash,
            name=name,
            role=role,
            max_stores_per_hour=max_stores_per_hour,
            now=now,
        )
        audit_events.record(
            tx,
            tenant,
            event_id=IdSource()(),
            by=_user(),
            act="key.create",
            subject=key_id,
            now=now,
            role=role,
        )

    with_database(lambda db: db.write(add, durable=True))
    made = {"key": text, "id": key_id, "tenant": tenant, "role": role}
    show(made, as_json=as_json, text=lambda v: f"{v['key']}\n(id {v['id']}; it is not shown again)")


@key_app.command("list")
def key_list(tenant: Tenant = "default", as_json: Json = False) -> None:
    """Keys of a tenant, without the keys themselves."""
    from service.storage import tenants

    names = ("id", "tenant", "name", "role", "created_ms", "revoked_ms")

    async def work(db: Any) -> list[dict[str, Any]]:
        return [dict(zip(names, row, strict=True)) for row in await tenants.list_keys(db, tenant)]

    show(
        with_database(work),
        as_json=as_json,
        text=lambda v: (
            "\n".join(
                f"{k['id']}  {k['role']:6}  {'revoked' if k['revoked_ms'] else 'live':7}  {k['name']}"
                for k in v
            )
            or "no keys"
        ),
    )


@key_app.command("revoke")
def key_revoke(key_id: str, tenant: Tenant = "default") -> None:
    """Revoke a key, in force with the next request on every worker."""
    from service.app import wall_clock_ms
    from service.ids import IdSource
    from service.storage import audit_events, tenants
    from service.storage.database import Transaction

    def revoke(tx: Transaction) -> bool:
        now = wall_clock_ms()
        is_revoked = bool(tenants.revoke(tx, tenant, key_id=key_id, now=now))
        if is_revoked:
            audit_events.record(
                tx,
                tenant,
                event_id=IdSource()(),
                by=_user(),
                act="key.revoke",
                subject=key_id,
                now=now,
            )
        return is_revoked

    if not with_database(lambda db: db.write(revoke, durable=True)):
        fail(f"tenant {tenant!r} has no live key {key_id!r}", 1)
    typer.echo(f"{key_id} revoked")


@app.command()
def events(
    tenant: Tenant = "default",
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 50,
    as_json: Json = False,
) -> None:
    """Administrative acts, newest first: who changed, invalidated, erased, made or revoked what."""
    from service import ids
    from service.storage import audit_events

    async def work(db: Any) -> list[dict[str, Any]]:
        rows = await audit_events.newest(db, tenant, before=ids.MAX_ID, limit=limit)
        return [audit_events.described(row) for row in rows]

    show(
        with_database(work),
        as_json=as_json,
        text=lambda v: (
            "\n".join(
                f"{e['at']}  {e['by']:20} {e['act']:14} {e['subject']}  {orjson.dumps(e['detail']).decode()}"
                for e in v
            )
            or "no acts yet"
        ),
    )


@app.command()
def dashboard() -> None:
    """Print a Grafana dashboard of the Prometheus metrics, to be imported there."""
    from service.dashboard import grafana

    typer.echo(orjson.dumps(grafana(), option=orjson.OPT_INDENT_2).decode())


@app.command()
def doctor(as_json: Json = False) -> None:
    """Check database, schema, models and address, and say how to mend what fails."""
    from service import doctor as checks

    found = checks.run(Settings())
    show(
        [c.as_dict() for c in found],
        as_json=as_json,
        text=lambda v: "\n".join(
            f"{'ok  ' if c['ok'] else 'FAIL'}  {c['check']:22} {c['detail']}"
            + (f"\n      mend: {c['mend']}" if c["mend"] else "")
            for c in v
        ),
    )
    raise SystemExit(0 if all(c.ok for c in found) else 1)


@app.command("embed-server")
def embed_server(
    host: Annotated[str, typer.Option(help="Address.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port.")] = 8081,
    model: Annotated[
        list[str] | None, typer.Option(help="Load at start; several times. Default: minilm.")
    ] = None,
) -> None:
    """The embedding models alone, as `/v1/embeddings`, for workers with SUREHIT_EMBED_URL."""
    from service import embed_server as server

    settings = Settings()
    key = settings.embed_api_key.get_secret_value()
    if host not in LOOPBACK and not key:
        typer.echo(
            f"--host: {host} can be reached from outside; set SUREHIT_EMBED_API_KEY", err=True
        )
        raise SystemExit(2)
    application = server.create_app(
        models_dir=settings.models_dir,
        threads=settings.workers,
        models=model or ["minilm"],
        api_key=key,
    )
    server.run(application, host=host, port=port)


@app.command("fake-upstream")
def fake_upstream(
    host: Annotated[str, typer.Option(help="Address.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port.")] = 8090,
) -> None:
    """An upstream that speaks OpenAI's and Anthropic's forms, for trying things out and for tests."""
    from service import fake_upstream as fake

    fake.run(host, port)


def with_database(work: Callable[[Any], Awaitable[T]]) -> T:
    """Run `work` over the open database; the embedded one is migrated first."""
    from service.storage import migrate as migrations
    from service.storage.database import open_database

    settings = Settings()
    if settings.is_embedded:
        _data_dir(settings)
        migrations.upgrade(settings.database)

    async def run() -> T:
        db = open_database(settings.database, budget_ms=5_000)
        await db.open()
        try:
            return await work(db)
        finally:
            await db.close()

    return asyncio.run(run())


def _user() -> str:
    """Who runs this command, for the log of administrative acts."""
    import getpass

    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):  # a container without a name for its user
        return "cli"


def _data_dir(settings: Settings) -> None:
    if not settings.database_url:
        settings.data_dir.mkdir(parents=True, exist_ok=True)


def _assignments(settings: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item in settings:
        path, equals, text = item.partition("=")
        if not equals:
            raise InvalidRequest.field(item, "must be field=value")
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            value = text
        *parents, name = path.split(".")
        target = found
        for parent in parents:
            target = target.setdefault(parent, {})
        target[name] = value
    return found


def _line_row(line: dict[str, Any]) -> str:
    threshold = f"{line['threshold']:.3f} ({'certified' if line['certified'] else 'uncertified'})"
    return f"{line['line']:24} {line['mode']:7} {line['language']:6} threshold {threshold}"


if __name__ == "__main__":
    main()
    sys.exit(0)
