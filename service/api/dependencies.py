"""What routes ask for: the running cache, the caller, the role that a call needs."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from typing import Annotated, Any, cast

from fastapi import Depends, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from service.auth import Keys
from service.cache import Cache, Caller, Role
from service.errors import Forbidden, InvalidRequest


def known_parameters(request: Request) -> None:
    """Raises InvalidRequest for a parameter that the call does not have: a misspelt one must not ask for everything."""
    route = request.scope.get("route")
    if request.method not in ("GET", "DELETE") or not isinstance(route, APIRoute):
        return
    if not route.path.startswith("/v1/"):
        return  # whoever probes and scrapes adds what he likes
    known = list(_query_names(route.dependant))
    for name in request.query_params:
        if name not in known:
            raise InvalidRequest.field(
                name, f"is no parameter of this call; it has {', '.join(known) or 'none'}"
            )


def _query_names(needs: Dependant) -> Iterator[str]:
    yield from (field.alias for field in needs.query_params)
    for more in needs.dependencies:
        yield from _query_names(more)


def get_cache(request: Request) -> Cache:
    """The cache that the lifespan built."""
    return cast(Cache, request.app.state.cache)


def get_keys(request: Request) -> Keys:
    """The API keys."""
    return cast(Keys, request.app.state.keys)


async def get_caller(request: Request, keys: Annotated[Keys, Depends(get_keys)]) -> Caller:
    """Who asks; raises Unauthorized."""
    return await keys.caller(request.headers.get("authorization"))


def at_least(role: Role) -> Callable[..., Coroutine[Any, Any, Caller]]:
    """A dependency: the caller, if the key's role includes `role`; raises Forbidden."""

    async def check(caller: Annotated[Caller, Depends(get_caller)]) -> Caller:
        if not caller.may(role):
            raise Forbidden(f"this call needs the role {role}; the key has {caller.role}")
        return caller

    return check


CacheDep = Annotated[Cache, Depends(get_cache)]
User = Annotated[Caller, Depends(at_least("use"))]
Reviewer = Annotated[Caller, Depends(at_least("review"))]
Admin = Annotated[Caller, Depends(at_least("admin"))]
