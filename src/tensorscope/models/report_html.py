"""The report as one self-contained page that opens offline."""

from __future__ import annotations

import base64
import html
from typing import Any

from tensorscope.core.units import MISSING, format_bytes, three_digits
from tensorscope.models.report import NO_FINDINGS

_STYLE = """
:root{color-scheme:light dark;--line:#d4d8de;--soft:#5b6169;--bar:#0072B2}
@media(prefers-color-scheme:dark){:root{--line:#3d434c;--soft:#9aa1ab;--bar:#56B4E9}}
body{font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;margin:2rem 0 .5rem;border-bottom:1px solid var(--line)}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
td,th{padding:.15rem 1.2rem .15rem 0;text-align:left;vertical-align:top}
td.n{text-align:right}.soft{color:var(--soft)}
.bar{background:var(--bar);height:.7rem;border-radius:2px;min-width:1px}
img{max-width:100%;border:1px solid var(--line)}.finding{border-left:4px solid #D55E00;padding-left:.8rem}
"""


def report_html(report: dict[str, Any], pictures: dict[str, bytes]) -> str:
    """Return the page for a report of `report.build_report`.

    Parameters
    ----------
    pictures
        View id to PNG bytes; they are embedded in this order.
    """
    title = f"TensorScope report: {report['session']['script'] or MISSING}"
    parts = [
        f"<h1>{_text(title)}</h1>",
        _facts(report),
        _findings(report),
        _steps(report["steps"]),
        _memory(report["memory"]),
        _graph(report["graph"]),
        *(_picture(name, data) for name, data in pictures.items()),
    ]
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _text(value: object) -> str:
    return html.escape(MISSING if value is None else str(value))


def _rows(rows: list[tuple[object, object]]) -> str:
    cells = "".join(f"<tr><th>{_text(a)}</th><td class=n>{_text(b)}</td></tr>" for a, b in rows)
    return f"<table>{cells}</table>"


def _facts(report: dict[str, Any]) -> str:
    target = report["target"]
    devices = ", ".join(str(device.get("name")) for device in target["devices"] or [])
    recorder = report["session"]["recorder"]
    return (
        f'<p class="soft">Python {_text(target["python"])}, torch {_text(target["torch"])}, '
        f"{_text(devices)}; memory recorder: {_text(recorder)}</p>"
    )


def _findings(report: dict[str, Any]) -> str:
    if not report["findings"]:
        return f"<h2>Findings</h2><p>{_text(NO_FINDINGS[report['findings_need']].capitalize())}.</p>"
    items = "".join(
        f'<div class="finding"><p><b>{_text(finding["title"])}</b><br>{_text(finding["advice"])}</p></div>'
        for finding in report["findings"]
    )
    return f"<h2>Findings</h2>{items}"


def _ms(value: float | None) -> str:
    return MISSING if value is None else f"{three_digits(value)} ms"


def _steps(steps: dict[str, Any]) -> str:
    split = {name: share for name, share in steps["phase_split"].items() if share is not None}
    shares = ", ".join(f"{name} {100 * share:.1f} %" for name, share in split.items())
    rows: list[tuple[object, object]] = [
        ("Steps", steps["count"]),
        ("Median step", _ms(steps["median_ms"])),
        ("95th percentile", _ms(steps["p95_ms"])),
        ("Where the time goes", shares or MISSING),
        (
            "Cost of looking",
            MISSING if steps["overhead_percent"] is None else f"{steps['overhead_percent']} %",
        ),
        ("Loss, first and last", f"{_number(steps['first_loss'])} → {_number(steps['last_loss'])}"),
        ("Dropped frames", steps["dropped"]),
    ]
    return f"<h2>Steps</h2>{_rows(rows)}"


def _number(value: float | None) -> str:
    return MISSING if value is None else f"{value:.4g}"


def _memory(memory: dict[str, Any]) -> str:
    if memory["peak_bytes"] is None:
        return "<h2>Memory</h2><p>Allocations were not recorded.</p>"
    largest = max(memory["by_category"].values()) or 1
    rows = "".join(
        f"<tr><th>{_text(name.replace('_', ' '))}</th><td class=n>{_text(format_bytes(size))}</td>"
        f'<td style="width:20rem"><div class="bar" style="width:{100 * size / largest:.2f}%"></div></td></tr>'
        for name, size in memory["by_category"].items()
        if size
    )
    step = _text(memory["peak_step"])
    peak = _text(format_bytes(memory["peak_bytes"]))
    return f"<h2>Memory</h2><p>Peak {peak} of allocator bytes in step {step}:</p><table>{rows}</table>"


def _graph(graph: dict[str, Any] | None) -> str:
    if graph is None:
        return "<h2>Autograd graph</h2><p>No deep step was captured.</p>"
    rows: list[tuple[object, object]] = [
        (entry["module"] or "(outside any module)", format_bytes(entry["saved_bytes"]))
        for entry in graph["top_modules"]
    ]
    saved = _text(format_bytes(graph["saved_bytes"]))
    lead = (
        f"{graph['nodes']} nodes, {graph['edges']} edges, {saved} saved for backward in step {graph['step']}."
    )
    return f"<h2>Autograd graph</h2><p>{lead} Modules that save most:</p>{_rows(rows)}"


def _picture(name: str, data: bytes) -> str:
    encoded = base64.b64encode(data).decode()
    return (
        f'<h2>{_text(name.capitalize())}</h2><img alt="{_text(name)}" src="data:image/png;base64,{encoded}">'
    )
