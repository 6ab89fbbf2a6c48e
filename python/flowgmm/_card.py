"""The model card in a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any


def html(card: dict[str, Any], decisions: Iterable[tuple[str, str, str]]) -> str:
    """A table of what the model is, and one of what was decided."""
    certificate = card["certificates"]["samples"]
    facts = [
        ("classes", ", ".join(card["classes"])),
        ("rows", f"{card['n_labelled']} labelled, {card['n_unlabelled']} unlabelled"),
        ("numbers of a row", str(len(card["columns"]))),
        ("parameters", f"{card['parameters']:,}"),
        ("log p(x)", card["likelihood"]),
        ("round trip x to z to x", f"off by {certificate['round_trip']:.1e} at most"),
        ("seed", str(card["seed"])),
        ("version", card["version"]),
    ]
    rows = "".join(f"<tr><th style='text-align:left'>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in facts)
    chosen = "".join(
        f"<tr><th style='text-align:left'>{escape(what)}</th><td>{escape(choice)}</td><td>{escape(why)}</td></tr>"
        for what, choice, why in decisions
    )
    return f"<details open><summary>Model card</summary><table>{rows}</table><table>{chosen}</table></details>"
