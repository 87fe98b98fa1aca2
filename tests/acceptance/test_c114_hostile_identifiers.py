"""C-114: identifiers with special characters match nothing, or widen a filter."""

from tests.harness import Client, chat

NAMES = [
    "a-b",
    "a:b",
    "a|c",
    "a*",
    "a%",
    "a_b",
    "o'neil",
    "{x}",
    "a/b:latest",
    "北京-1",
    "5f0c1d6e-8f0a-4a6b-9d53-0a4e4b1c7d21",
]


async def test_c114_each_scope_tag_and_model_finds_itself_alone(client: Client) -> None:
    """One entry under each name: its own lookup hits, all others miss, its tag drops exactly one."""
    for name in NAMES:
        await client.store(chat("q", model=name), f"for {name}", scope=name, tags=[name])
    for name in NAMES:
        for other in NAMES:
            found = await client.lookup(chat("q", model=other), scope=name)
            assert found["outcome"] == ("hit" if name == other else "miss")
            if name == other:
                assert found["response"] == f"for {name}"
    for kind in ("tag", "scope", "model"):
        for name in NAMES:
            reply = await client.call("POST", "/v1/invalidate", {kind: name, "dry_run": True})
            assert reply.json() == {"invalidated": 1}, (kind, name)
    for n, name in enumerate(NAMES):
        reply = await client.call("POST", "/v1/invalidate", {"tag": name})
        assert (reply.status_code, reply.json()) == (200, {"invalidated": 1})
        left = (await client.call("GET", "/v1/stats")).json()["lines"]["faq"]["entries"]["live"]
        assert left == len(NAMES) - n - 1


async def test_c114_each_tenant_finds_itself_alone(client: Client) -> None:
    """The same names as tenants, each with a line of each name that may be a line's (no slash)."""
    lines = [name for name in NAMES if "/" not in name]
    keys = {name: await client.key(name) for name in NAMES}
    for name, headers in keys.items():
        for line in lines[::3]:
            await client.store("q", f"of {name} in {line}", line=line, headers=headers)
    for name, headers in keys.items():
        for n, line in enumerate(lines):
            found = await client.lookup("q", line=line, headers=headers)
            assert found.get("response") == (None if n % 3 else f"of {name} in {line}")
