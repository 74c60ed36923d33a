"""Every figure in the documents is what the committed files give, and the check can fail."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tools import figures
from tools.figure_sources import BLOCKS, FIGURES, GIVEN, MUTANTS, PAGES, SENTENCES, SMALL
from tools.figures import ROOT, FigureError, documents, problems, recomputed, unexplained

COPIED = (
    "README.md",
    "METHODOLOGY.md",
    "docs",
    "results",
    FIGURES,
    SMALL,
    MUTANTS,
    "cadence.json",
    "publication-policy.json",
    "tasks",
    "adapters",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of what figures are in and come from."""
    for name in COPIED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name)
        else:
            shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_every_figure_is_what_the_files_give() -> None:
    assert problems(ROOT) == [], "make figures"


@pytest.mark.parametrize(
    ("name", "number"), [(name, number) for name, found in SENTENCES.items() for number in range(len(found))]
)
def test_a_wrong_figure_in_any_sentence_is_found_and_mended(root: Path, name: str, number: int) -> None:
    text = (root / name).read_text(encoding="utf-8")
    place = re.search(SENTENCES[name][number].pattern, text, re.MULTILINE)
    assert place
    last = place.re.groups
    wrong = {"yes": "no", "no": "yes"}.get(place[last], re.sub(r"%?$", r"9\g<0>", place[last], count=1))
    planted = text[: place.start(last)] + wrong + text[place.end(last) :]
    (root / name).write_text(planted, encoding="utf-8")
    (found,) = problems(root)
    assert found.startswith(f"{name}: line ")
    assert recomputed(root, name, planted) == text


@pytest.mark.parametrize("name", PAGES)
def test_a_wrong_figure_in_a_generated_page_is_found(root: Path, name: str) -> None:
    change(root / name, "\n", "\nAll is well in 100%.\n")
    assert problems(root)[0].startswith(f"{name}: ")


@pytest.mark.parametrize("block", BLOCKS)
def test_a_wrong_figure_in_any_block_is_found_and_mended(root: Path, block: str) -> None:
    marker = f"<!-- figures: {block} -->\n"
    name, text = next((name, text) for name, text in documents(root) if marker in text)
    before, _, after = text.partition(marker)
    wrong = before + marker + re.sub(r"\d", "7", after, count=40)
    (root / name).write_text(wrong, encoding="utf-8")
    assert any(found.startswith(f"{name}: line ") for found in problems(root))
    assert recomputed(root, name, wrong) == text


def test_changed_measurements_make_the_page_stale(root: Path) -> None:
    found = json.loads((root / FIGURES).read_bytes())
    found["start"]["help"]["cpu_s"] += 1
    (root / FIGURES).write_text(json.dumps(found), encoding="utf-8")
    assert any("docs/performance.md: line" in line for line in problems(root))


@pytest.mark.parametrize(
    "sentence",
    ["It takes 17 ms.", "It needs 3.5 GB.", "Success was 83%.", "p was .034.", "It passed 8 of 10 runs."],
)
def test_a_measurement_that_nobody_computes_is_found(root: Path, sentence: str) -> None:
    with (root / "README.md").open("a", encoding="utf-8") as readme:
        readme.write(f"\n{sentence}\n")
    (found,) = problems(root)
    assert found.startswith("README.md: nobody says where ")


def test_an_unknown_block_and_a_missing_sentence_are_found(root: Path) -> None:
    change(root / "README.md", "\n", "\n<!-- figures: nothing -->\n1\n<!-- /figures -->\n")
    assert problems(root) == ["README.md: nothing computes the block 'nothing'"]
    (root / "README.md").write_text("", encoding="utf-8")
    change(root / "docs/gateway.md", "| act |", "| acts |")
    (found,) = problems(root)
    assert "docs/gateway.md: no text fits" in found


def test_every_block_sentence_and_exception_is_used() -> None:
    texts = dict(documents(ROOT))
    used = {name for text in texts.values() for name in re.findall(r"<!-- figures: ([\w-]+) -->", text)}
    assert used == BLOCKS.keys()
    assert SENTENCES.keys() <= texts.keys()
    assert not PAGES.keys() & texts.keys()
    for name, phrases in GIVEN.items():
        own = "".join(texts.values()) if name == "*" else texts[name]
        assert [phrase for phrase in phrases if phrase not in own] == []


def test_code_and_links_tell_no_measurements() -> None:
    assert list(unexplained("x.md", "`sleep 3 s` and [a page](x/5%.md)\n```sh\nwait 3 s\n```\n")) == []


def test_making_the_figures_leaves_nothing_to_do(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change(root / "docs/gateway.md", "| server | 0.", "| server | 9.")
    monkeypatch.setattr(figures, "ROOT", root)
    monkeypatch.setattr("sys.argv", ["figures"])
    assert figures.main() == 0
    assert problems(root) == []


@pytest.mark.parametrize("text", ["<!-- figures: run -->\n<!-- /figures -->\n", "<!-- figures: run -->\nx\n"])
def test_a_block_that_is_empty_or_has_no_end_is_found(text: str) -> None:
    with pytest.raises(FigureError, match="no line between its marks"):
        recomputed(ROOT, "README.md", text)
