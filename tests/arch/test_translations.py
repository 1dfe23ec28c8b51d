"""The translations are complete, and compiled from the sources that are here."""

import re
import runpy
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QTranslator

ROOT = Path(__file__).resolve().parents[2]
TS = ROOT / "resources" / "i18n" / "tensorscope_zh_CN.ts"
PLACEHOLDER = re.compile(r"\{[^{}]*\}")
HAN = re.compile(r"[\u4e00-\u9fff]")
SAME_IN_BOTH = re.compile(r"CPU|CUDA|grad_fn|p95|\(ms\)")


@pytest.fixture(scope="module")
def script() -> dict[str, Callable[..., Any]]:
    return runpy.run_path(str(ROOT / "scripts" / "update_translations.py"))


def messages(path: Path) -> dict[tuple[str, str], ElementTree.Element]:
    """Return every message by context and English text."""
    return {
        (context.findtext("name", ""), message.findtext("source", "")): message
        for context in ElementTree.parse(path).getroot().iter("context")
        for message in context.iter("message")
    }


def test_that_every_text_of_the_window_is_in_the_translations(script, tmp_path):
    fresh = tmp_path / TS.name
    shutil.copy(TS, fresh)
    script["update"](fresh)
    assert messages(fresh).keys() == messages(TS).keys(), "run: make i18n"


def test_that_every_text_is_translated():
    missing = [
        source
        for (_, source), message in messages(TS).items()
        if message.find("translation").get("type") or not message.findtext("translation")
    ]
    assert missing == []


def test_that_translations_keep_the_placeholders():
    wrong = {
        source: message.findtext("translation")
        for (_, source), message in messages(TS).items()
        if sorted(PLACEHOLDER.findall(source))
        != sorted(PLACEHOLDER.findall(message.findtext("translation") or ""))
    }
    assert wrong == {}


def test_that_translations_are_chinese_or_hold_no_words():
    wrong = [
        source
        for (_, source), message in messages(TS).items()
        if not HAN.search(message.findtext("translation") or "")
        and re.search(r"[A-Za-z]{2}", PLACEHOLDER.sub("", SAME_IN_BOTH.sub("", source)))
    ]
    assert wrong == []


def test_that_the_compiled_translations_are_those_of_the_sources(qapp):
    translator = QTranslator()
    assert translator.load(str(TS.with_suffix(".qm")))
    stale = [
        source
        for (context, source), message in messages(TS).items()
        if translator.translate(context, source) != message.findtext("translation")
    ]
    assert stale == [], "run: make i18n"
