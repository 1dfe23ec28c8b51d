"""A finding: something a rule proved from the data of a session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SEVERITIES = ("info", "warning", "error")


@dataclass(frozen=True)
class Finding:
    """One proved statement about a session.

    Attributes
    ----------
    code
        Stable id of the rule, such as ``graph-kept``.
    severity
        One of `SEVERITIES`.
    title
        One English sentence that names what was found, with its numbers.
    evidence
        The numbers that prove it, JSON-able, units in the key names.
    where
        What to open: keys ``view`` and any of ``step``, ``tensor``, ``module``, ``node``.
    advice
        What to do next, in one or two English sentences.
    """

    code: str
    severity: str
    title: str
    evidence: Mapping[str, Any]
    where: Mapping[str, Any]
    advice: str
