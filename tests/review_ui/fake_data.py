"""What the double of the service shows: texts with every kind of trap, and figures that are made up."""

from __future__ import annotations

import time
from typing import Any

NASTY = (
    "<script>document.title='owned'</script> ![x](http://127.0.0.1:9/leak.png) **bold** $x^2$ :smile: "
    "<img src=x onerror=\"document.title='owned'\"> [link](javascript:alert(1)) & &amp; \u202etxet desrever\u202c"
)

PAIRS: tuple[tuple[str, str, Any, Any], ...] = (
    (
        "How do I cancel my annual subscription?",
        "How do I cancel my monthly subscription?",
        "Open Billing > Plan > Cancel. A monthly plan ends with the month that is paid.",
        "Open Billing > Plan > Cancel. An annual plan ends with the year; you may ask for a refund within 14 days.",
    ),
    (
        "如何在手机上修改登录密码？",
        "怎样在手机上更改登录密码？",
        "打开“设置 > 账户 > 密码”，点击“修改”，输入旧密码和新密码。",
        None,
    ),
    (
        "How do I export 30 invoices as PDF?",
        "How do I export 31 invoices as PDF?",
        {
            "choices": [
                {
                    "message": {
                        "role": "assistant",
                        "content": "Reports > Invoices > Export, pick the rows.",
                    }
                }
            ]
        },
        "Reports > Invoices > select up to 30 rows > Export as PDF.",
    ),
    (
        "How can I reset my password?",
        "How do I reset my password?",
        "Settings > Account > Password > Reset.",
        None,
    ),
    ("Show me " + NASTY, "Show me  " + NASTY, NASTY, NASTY),
    (
        "def f(a, b):\n    return a - b\n\nWhat does f(1, 2) return?",
        "def f(a, b):\n\treturn b - a\n\nWhat does f(1, 2) return?",
        "```python\nprint(f(1, 2))\n```\nIt prints 1.\n" * 20,
        "It returns -1.",
    ),
)


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def item(n: int) -> dict[str, Any]:
    """The texts of item number `n`."""
    query, entry_query, response, fresh = PAIRS[n % len(PAIRS)]
    return {
        "kind": "sampled",
        "query": query if n < len(PAIRS) else f"{query} ({n})",
        "entry_query": entry_query,
        "entry_response": response,
        "fresh_response": fresh,
        "was_served": fresh is None,
        "guard": "number" if n % len(PAIRS) == 2 else None,
        "guard_detail": "30 / 31" if n % len(PAIRS) == 2 else None,
        "age_s": 5400.0,
    }


def line_settings(name: str) -> dict[str, Any]:
    """A line as the service describes it."""
    return {
        "line": name,
        "mode": "serve",
        "threshold": 0.95,
        "language": "zh" if name.endswith("zh") else "en",
        "embedder": None,
        "target_false_hit_rate": 0.03,
        "confidence": 0.95,
        "ttl_s": None,
        "policy_version": "1",
        "guards": {},
        "sampling": {"certify_rate": 0.05},
        "limits": {},
        "promote": False,
        "certified": False,
        "decision_id": None,
        "revision": 3,
        "updated_ms": now_ms(),
        "updated_by": "local",
        "changes": [],
    }


def decision(n: int, threshold: float) -> dict[str, Any]:
    """A certified threshold."""
    return {
        "decision_id": f"dec_{n}",
        "created_ms": now_ms() - 86_400_000 * (4 - n),
        "by": "local",
        "threshold": threshold,
        "target": 0.03,
        "confidence": 0.95,
        "void": None,
        "evidence": {
            "certificate": {
                "labels": 400 + 100 * n,
                "false_hits": 3 + n,
                "unsure": 2,
                "hit_rate": 0.3,
                "point_estimate": 0.008,
            }
        },
    }


def promise(line: dict[str, Any]) -> tuple[str, str]:
    """(state, state in words)."""
    return (
        ("certified",) * 2 if line["certified"] else ("collecting", "collecting (620 of about 900)")
    )


def entry(n: int) -> dict[str, Any]:
    """A stored answer."""
    query, _, response, _ = PAIRS[n % len(PAIRS)]
    return {
        "entry_id": f"ent_{n:016x}",
        "line": "support-faq",
        "scope": "acme" if n % 3 else "",
        "policy_version": "1",
        "model": "m1",
        "created_ms": now_ms() - n * 3_600_000,
        "expires_ms": None if n % 2 else now_ms() + 86_400_000,
        "query": f"{query} ({n})",
        "hits": n % 7,
        "quarantined": False,
        "response_bytes": len(str(response)),
        "embedder": "minilm:1",
        "tags": ["doc:42"],
        "request": {"model": "m1", "messages": [{"role": "user", "content": f"{query} ({n})"}]},
        "response": response,
    }


def curve_of(line: dict[str, Any], saved: float, wrong: float) -> dict[str, Any]:
    """A curve over 41 thresholds."""
    grid = [round(0.80 + 0.005 * k, 4) for k in range(41)]
    hit = [round(0.62 * (1 - (t - 0.8) / 0.2) ** 0.8, 5) for t in grid]
    false = [round(0.16 * (1 - (t - 0.8) / 0.2) ** 2 + 0.004, 5) for t in grid]
    labels = [round(620 * (1 - (t - 0.8) / 0.2) ** 0.7) for t in grid]
    spread = [
        min(0.5, 1.4 / (n + 4) ** 0.5 * (f + 0.02) ** 0.5)
        for n, f in zip(labels, false, strict=True)
    ]
    return {
        "thresholds": grid,
        "hit_rate": hit,
        "hit_rate_low": [max(0, h - 0.01) for h in hit],
        "hit_rate_high": [h + 0.01 for h in hit],
        "false_hit_rate": false,
        "false_hit_rate_low": [max(0, f - s) for f, s in zip(false, spread, strict=True)],
        "false_hit_rate_high": [min(1, f + s) for f, s in zip(false, spread, strict=True)],
        "wrong_reuse_rate": [h * f for h, f in zip(hit, false, strict=True)],
        "labels": labels,
        "effective_labels": [n * 0.8 for n in labels],
        "is_thin": [n * 0.8 < 10 for n in labels],
        "expected_saved": [h * (1 - f) * saved for h, f in zip(hit, false, strict=True)],
        "expected_lost": [h * f * wrong for h, f in zip(hit, false, strict=True)],
        "expected_value": [
            h * ((1 - f) * saved - f * wrong) for h, f in zip(hit, false, strict=True)
        ],
        "lookups": 21_480,
        "labelled": 620,
        "waiting": 60,
        "target": line["target_false_hit_rate"],
        "confidence": line["confidence"],
        "present": {k: line[k] for k in ("threshold", "mode", "certified", "decision_id")},
        "proposed": None
        if line["certified"]
        else {"decision_id": "dec_2", "threshold": 0.91, "target": 0.03, "confidence": 0.95},
        "state": dict(zip(("state", "text"), promise(line), strict=True)),
        "not_certified": None,
    }


def figures(k: int) -> dict[str, Any]:
    """A line's figures."""
    lookups, hits = 4200 - 900 * k, 1310 - 400 * k
    return {
        "exact": {"lookups": 8_000, "hits": 820 + 77 * k, "hit_rate": (820 + 77 * k) / 8_000},
        "semantic": {
            "lookups": lookups,
            "hits": hits,
            "hit_rate": hits / lookups,
            "misses": {"below_threshold": lookups - hits - 240, "guarded": 180, "empty": 60},
        },
        "not_looked_up": {"volatile": 31, "bypass": 12},
        "stores": 2400,
        "entries": {"live": 2310, "searchable": 2200, "awaiting_embedding": 0},
    }


def audit(threshold: float) -> dict[str, Any]:
    """Four layers of a line; one of them has a model's name with markup in it."""

    def layer(name: str, share: float | None, unit: str, saved: float | None, step: str) -> Any:
        about = {"layer": name, "share": share, "unit": unit, "saves": f"something of {unit}"}
        more = {"saved": saved, "risk": "a risk", "next_step": step, "is_worth_it": bool(share)}
        return about | more

    return {
        "layers": [
            layer("exact", 0.31, "lookups", 12.5, "Leave it on"),
            layer("semantic", 0.12, "logged lookups", 3.25, "Review"),
            layer(
                "provider_prompt_cache", 0.0, "input tokens", -0.5, f"{NASTY}: below the minimum"
            ),
            layer("prefix_kv", None, "prompt tokens", None, "Audit a log"),
        ],
        "thresholds": [
            {"threshold": t, "with_candidate": n + r, "refused_by_guards": r, "left": n}
            for t, n, r in ((0.8, 40, 30), (0.9, 22, 9), (0.95, 10, 2), (0.99, 1, 0))
        ],
        "threshold_in_force": threshold,
        "causes": [
            {"cause": "variable_timestamp", "times": 12, "lost_tokens": 9800, "mending": "Move it"}
        ],
        "currency": "USD",
        "prices_as_of": "2026-11-29",
        "lookups_read": 120,
        "requests_read": 80,
        "covers": [
            "exact: counters",
            "semantic: the log",
            "provider_prompt_cache: usage",
            "prefix_kv: stored",
        ],
    }
