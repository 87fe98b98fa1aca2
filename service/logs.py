"""Logging: structlog, for people in a terminal and as JSON otherwise. No request or answer text, no keys."""

from __future__ import annotations

import logging
import sys

import structlog


def configure() -> None:
    """Set up once, at the start of a command that runs for long."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer()
        if sys.stderr.isatty()
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
