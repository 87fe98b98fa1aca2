"""Requests that are never reused by meaning: time-bound, personal, acting, creative."""

from service.eligibility.classify import ALL, RULES, Ineligible, check_patterns, classify

__all__ = ["ALL", "RULES", "Ineligible", "check_patterns", "classify"]
