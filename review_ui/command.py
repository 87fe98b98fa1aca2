"""`surehit review`: the page as a process of its own, with safe settings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

APP = Path(__file__).with_name("app.py")
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
DEFAULT_PORT = 8501

SECRETS = (Path("~/.streamlit/secrets.toml"), Path(".streamlit/secrets.toml"))
"""Where Streamlit looks for the `[auth]` section of OIDC."""


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def review(
        host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
        port: Annotated[
            int, typer.Option(min=1, max=65535, envvar="SUREHIT_UI_PORT", help="Port.")
        ] = DEFAULT_PORT,
        url: Annotated[
            str, typer.Option(envvar="SUREHIT_URL", help="Where the service answers.")
        ] = "",
    ) -> None:
        """Run the review page, a client of the service at SUREHIT_URL."""
        refusal = refuse(host)
        if refusal:
            typer.secho(refusal, err=True, fg=typer.colors.RED)
            raise SystemExit(2)
        # this process becomes the page: whoever ends it ends the page, and nothing is left behind
        os.execve(  # noqa: S606 - our own command, no shell
            sys.executable, command(port, host), os.environ | {"SUREHIT_URL": url or service_url()}
        )


def start_page(url: str, port: int, *, host: str = "127.0.0.1") -> subprocess.Popen[bytes]:
    """Start the page for the service at `url`; the caller ends the process."""
    return subprocess.Popen(  # noqa: S603 - our own command, no shell
        command(port, host), env=os.environ | {"SUREHIT_URL": url}
    )


def command(port: int, host: str) -> list[str]:
    """How Streamlit is started."""
    return [sys.executable, "-m", "streamlit", "run", str(APP), *flags(host, port)]


def flags(host: str, port: int) -> list[str]:
    """Streamlit's options: quiet, local, nothing sent anywhere, no details of errors on the screen."""
    options = {
        "server.address": host,
        "server.port": port,
        "server.headless": "true",
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": "false",
        "client.toolbarMode": "minimal",
        "client.showErrorDetails": "none",
        "runner.magicEnabled": "false",  # it would print every loose string of a page
        "theme.light.primaryColor": "#2563eb",
        "theme.dark.primaryColor": "#60a5fa",
    }
    found = [f"--{name}={value}" for name, value in options.items()]
    if (
        host in LOOPBACK
        and not os.environ.get("SUREHIT_UI_USER_HEADER")
        and not oidc_is_configured()
    ):
        # other names in the Host header are a rebound domain, or a proxy that should be named by its header
        found += [f"--server.allowedHosts={name}" for name in sorted(LOOPBACK)]
    return found


def refuse(host: str) -> str:
    """Why the page must not listen there; empty when it may."""
    if host in LOOPBACK or oidc_is_configured():
        return ""
    if os.environ.get("SUREHIT_UI_USER_HEADER") or os.environ.get("SUREHIT_UI_KEY"):
        return ""
    return (
        f"{host} can be reached from other machines, and nothing would keep strangers out. Configure one of: OIDC "
        "([auth] in .streamlit/secrets.toml), a reverse proxy that signs people in (SUREHIT_UI_USER_HEADER=its "
        "header), or a key that visitors must type (SUREHIT_UI_KEY=$(surehit key create --role review))."
    )


def oidc_is_configured() -> bool:
    """Whether a `secrets.toml` names an identity provider."""
    import tomllib

    for path in SECRETS:
        try:
            if "auth" in tomllib.loads(path.expanduser().read_text(encoding="utf-8")):
                return True
        except (OSError, tomllib.TOMLDecodeError):
            continue
    return False


def service_url() -> str:
    """Where `surehit serve` listens by the same environment."""
    host = os.environ.get("SUREHIT_HOST", "") or "127.0.0.1"
    reachable = "127.0.0.1" if host in ("0.0.0.0", "::") else host  # noqa: S104 - compared, not bound
    return f"http://{reachable}:{os.environ.get('SUREHIT_PORT', '') or 8080}"
