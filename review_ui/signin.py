"""Decides who a visitor is: OIDC where it is configured, else a reverse proxy's header, else a name on loopback.

The page's own API key (`SUREHIT_UI_KEY`) is lent to visitors whom somebody has identified, and to those on loopback.
Anybody else has to type a key, and only one that the service really checks.
"""

from __future__ import annotations

import hmac
import os
from dataclasses import dataclass, field

import httpx2
import streamlit as st

from review_ui import state, verbatim
from review_ui.client import DEFAULT_URL, Client, ServiceError, connect
from review_ui.state import SignedIn

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
MAX_NAME = 64


@dataclass(frozen=True)
class PageSettings:
    """What the page is told by its environment."""

    key: str = field(repr=False)
    user_header: str
    address: str
    oidc: bool

    @property
    def is_loopback(self) -> bool:
        """True when only this machine can reach the page."""
        return self.address in LOOPBACK

    @property
    def identifies(self) -> bool:
        """True when somebody else says who a visitor is."""
        return self.oidc or bool(self.user_header)


def settings() -> PageSettings:
    """The settings in force."""
    return PageSettings(
        key=os.environ.get("SUREHIT_UI_KEY", ""),
        user_header=os.environ.get("SUREHIT_UI_USER_HEADER", ""),
        address=st.get_option("server.address") or "",
        oidc=oidc_is_configured(),
    )


def oidc_is_configured() -> bool:
    """Whether Streamlit's `secrets.toml` has the `[auth]` section that `st.login` reads."""
    return st.secrets.load_if_toml_exists() and "auth" in st.secrets


@st.cache_resource(show_spinner=False)
def _connection(url: str) -> httpx2.Client:
    return connect(url)


def connection() -> httpx2.Client:
    """This process's connections to the service."""
    return _connection(service_url())


def service_url() -> str:
    """Where the service answers."""
    return os.environ.get("SUREHIT_URL", "") or DEFAULT_URL


def require() -> SignedIn | None:
    """The visitor, or None after showing how to sign in."""
    known = state.get().signed_in
    if known is not None:
        return known
    config = settings()
    if config.oidc:
        found = _from_oidc(config)
    elif config.user_header:
        found = _from_proxy(config)
    else:
        found = _from_form(config)
    state.get().signed_in = found
    if found is not None and found.by == "name":
        st.rerun()  # so that the form is gone
    return found


def sign_out() -> None:
    """Forget the visitor and everything that the session held."""
    who = state.get().signed_in
    st.session_state.clear()
    if who is not None and who.by == "oidc":
        st.logout()


def _from_oidc(config: PageSettings) -> SignedIn | None:
    if not st.user.is_logged_in:
        _welcome()
        st.button("Sign in", type="primary", on_click=st.login)
        return None
    name = st.user.get("email") or st.user.get("preferred_username") or st.user.get("sub") or ""
    return SignedIn(str(name)[:MAX_NAME], "oidc", config.key) if name else None


def _from_proxy(config: PageSettings) -> SignedIn | None:
    name = (st.context.headers.get(config.user_header) or "").strip()
    if not name:
        _welcome()
        st.error(
            "The reverse proxy did not say who you are: the header "
            f"{verbatim.plain(config.user_header)} is missing. Open the page through the proxy."
        )
        return None
    return SignedIn(name[:MAX_NAME], "proxy", config.key)


def _from_form(config: PageSettings) -> SignedIn | None:
    _welcome()
    asks_key = not config.is_loopback or not config.key
    with st.form("sign-in", width=440):
        name = st.text_input("Your name", max_chars=MAX_NAME, help="Your labels bear it.").strip()
        optional = " (if the service has keys)" if config.is_loopback else ""
        typed = st.text_input(f"API key{optional}", type="password").strip() if asks_key else ""
        if not st.form_submit_button("Start reviewing", type="primary"):
            return None
    if not name:
        st.error("A name is needed.")
        return None
    problem = check_key(config, typed)
    if problem:
        st.error(verbatim.plain(problem))
        return None
    return SignedIn(name, "name", typed or config.key)


def check_key(config: PageSettings, typed: str) -> str:
    """Why this key does not open the page; empty when it does."""
    if not config.is_loopback:
        if not typed:
            return "This page can be reached from other machines: an API key is needed."
        if config.key and hmac.compare_digest(typed.encode(), config.key.encode()):
            return ""
        if _opens(Client(connection())):
            return "The service has no API keys, so a typed one proves nothing; make one first."
    try:
        Client(connection(), typed or config.key).lines()
    except ServiceError as error:
        return str(error)
    return ""


def _opens(client: Client) -> bool:
    try:
        client.lines()
    except ServiceError as error:
        return error.status not in (401, 403)
    return True


def _welcome() -> None:
    st.title("Surehit review")
    st.write(
        "Could the stored answer have been given to the new question? Your verdicts decide what is served."
    )
