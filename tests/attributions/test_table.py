"""`python -m examples.attributions`: every map of a translator in one table, beside a rival."""

import sys
from types import SimpleNamespace

import pytest

pytest.importorskip("tensorflow")

from examples.attributions import __main__ as table
from examples.attributions import rival
from keras_attention import Translator, corpora
from keras_attention.corpora import AlignedPair, Pair


def test_every_map_and_the_rival_have_a_row(tiny_run, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Translator, "load", lambda name: tiny_run.translator)
    monkeypatch.setattr(corpora, "load", lambda name: tiny_run.train)
    monkeypatch.setattr(rival, "is_installed", lambda: True)
    monkeypatch.setattr(rival, "links", lambda aligned, pairs: [set(p.links) for p in aligned])
    out = tmp_path / "table.md"
    command = ["table", "--corpus", "bundled", "--pairs", "3", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as stop:
        table.main()
    assert not stop.value.code, capsys.readouterr().err
    page = out.read_text(encoding="utf-8")
    rows = {row.split(" | ")[0].strip("| "): row for row in page.splitlines() if "|" in row}
    assert {"attention", "value-norms", "leave-one-out", "alignment"} <= set(rows)
    assert "relevance" not in rows  # it needs a Transformer
    eflomal = next(row for name, row in rows.items() if name.startswith("eflomal"))
    assert "| 0.000 |" in eflomal  # it gave the gold links


def test_the_rival_sees_words_and_no_gold(monkeypatch):
    seen = []

    class Aligner:
        def align(self, source, target, links_filename_fwd, quiet):
            seen.extend([source.read(), target.read()])
            with open(links_filename_fwd, "w") as file:
                file.write("0-0 1-1\n2-0\n")

    monkeypatch.setitem(sys.modules, "eflomal", SimpleNamespace(Aligner=Aligner))
    aligned = [AlignedPair("¿Qué?", "What?", ((9, 9),))]
    found = rival.links(aligned, [Pair("Él come.", "He's eating.")])
    assert found == [{(0, 0), (1, 1)}]
    assert seen == ["¿ qué ?\nél come .\n", "what ?\nhe's eating .\n"]
