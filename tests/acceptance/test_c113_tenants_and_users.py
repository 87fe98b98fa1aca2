"""C-113: a neighbour gets a byte-identical private answer."""

from tests.harness import Client

QUESTION = (
    "Please list my open invoices of this quarter with their numbers, due dates and amounts, "
    "sorted by due date, and say for each of them whether a reminder was sent, who approved it, "
    "which cost centre it belongs to and whether a part of it was paid already, so that I can "
    "forward the list to our accountant this afternoon before the audit begins next week."
)


async def test_c113_private_answer_stays_with_its_user(client: Client) -> None:
    """T2 and T1/U2 miss the byte-identical request, T1/U1 hits; T2 sees nothing of it anywhere."""
    t1, t2 = await client.key("t1"), await client.key("t2")
    for headers in (t1, t2):
        # -1 lets everything through that the partitions let meet
        await client.line(threshold=-1.0, headers=headers, rules={"personal": False})
    stored = await client.store(QUESTION, "INV-1 to INV-9", scope="u1", headers=t1)
    for scope in ("u1", "u2", ""):
        assert (await client.lookup(QUESTION, scope=scope, headers=t2))["outcome"] == "miss"
    for scope in ("u2", ""):
        found = await client.lookup(QUESTION, scope=scope, headers=t1)
        assert (found["outcome"], found["score"]) == ("miss", None)
    own = await client.lookup(QUESTION, scope="u1", headers=t1)
    assert (own["tier"], own["response"]) == ("exact", "INV-1 to INV-9")

    listed = await client.call("GET", "/v1/entries?line=faq", headers=t2)
    assert listed.json() == {"entries": [], "next": None}
    one = await client.call("GET", f"/v1/entries/{stored['entry_id']}", headers=t2)
    assert one.status_code == 404
    gone = await client.call("DELETE", f"/v1/entries/{stored['entry_id']}", headers=t2)
    assert gone.status_code == 404
    stats = (await client.call("GET", "/v1/stats", headers=t2)).json()
    assert stats["lines"]["faq"]["entries"]["live"] == 0
    assert stats["lines"]["faq"]["stores"] == 0
    for _ in range(2):  # each worker has its own
        metrics = (await client.call("GET", "/metrics", headers=t2)).text
        assert "surehit_stores_total{" not in metrics
        assert "t1" not in metrics
    assert (await client.lookup(QUESTION, scope="u1", headers=t1))["tier"] == "exact"
