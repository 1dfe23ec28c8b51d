"""Rules of the source that no linter knows."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "src" / "tensorscope"
WINDOW = sorted(path for folder in ("app", "views") for path in SOURCES.joinpath(folder).rglob("*.py"))
AGENT = sorted(SOURCES.joinpath("agent").rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCES))


def calls(tree: ast.AST, method: str) -> Iterator[ast.Call]:
    """Yield every call of a method or function of that name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            if called == method:
                yield node


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def untranslatable(tree: ast.AST) -> list[int]:
    """Return the lines of calls of ``tr`` that lupdate cannot read: not a method, or not a plain text."""
    return [
        call.lineno
        for call in calls(tree, "tr")
        if not isinstance(call.func, ast.Attribute) or not call.args or not is_text(call.args[0])
    ]


def kept_alive(tree: ast.AST) -> list[int]:
    """Return the lines where a lambda or a partial is connected: a signal that holds one never lets go."""
    return [
        call.lineno
        for call in calls(tree, "connect")
        if any(isinstance(arg, ast.Lambda) or list(calls(arg, "partial")) for arg in call.args)
    ]


def saved_variables(tree: ast.AST) -> list[int]:
    """Return the lines that read ``_saved_*`` of a node: that runs checkpointed forwards again."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if (isinstance(node, ast.Attribute) and node.attr.startswith("_saved_"))
        or (isinstance(node, ast.Constant) and str(node.value).startswith("_saved_"))
    ]


@pytest.mark.parametrize("path", WINDOW, ids=name_of)
def test_that_every_text_can_be_translated(path):
    assert untranslatable(ast.parse(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("path", WINDOW, ids=name_of)
def test_that_only_bound_methods_are_connected(path):
    assert kept_alive(ast.parse(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("path", AGENT, ids=name_of)
def test_that_the_agent_reads_no_saved_variables(path):
    assert saved_variables(ast.parse(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (untranslatable, "self.tr(f'{n} steps')"),
        (untranslatable, "self.tr('{n} steps'.format(n=1))"),
        (untranslatable, "tr('steps')"),
        (kept_alive, "button.clicked.connect(lambda: self.close())"),
        (kept_alive, "button.clicked.connect(functools.partial(self.show, 1))"),
        (saved_variables, "node._saved_self"),
        (saved_variables, "getattr(node, '_saved_self')"),
    ],
)
def test_that_each_rule_finds_what_it_forbids(rule, source):
    assert rule(ast.parse(source)) == [1]
