import hashlib

import pytest

from keras_attention import corpora
from keras_attention.corpora import Pair
from keras_attention.storage import bundled
from keras_attention.text.word_pieces import split_marks


def test_a_pair_is_found_by_its_hash():
    pairs = [Pair("Hola.", "Hello."), Pair("Tom perdió su trabajo.", "Tom has lost his job.")]
    (pair,) = corpora.aligned(pairs)
    assert (pair.context, pair.target) == pairs[1]
    context, target = (
        [token.strip("￭") for token in split_marks(text)] for text in (pair.context, pair.target)
    )
    assert [(context[c], target[t]) for c, t in pair.links] == [
        ("Tom", "Tom"),
        ("perdió", "has"),
        ("perdió", "lost"),
        ("su", "his"),
        ("trabajo", "job"),
        (".", "."),
    ]


def test_the_file_holds_fifty_pairs_and_no_sentence():
    path = bundled("alignments", "spa-eng.tsv")
    rows = [r for r in path.read_text(encoding="utf-8").splitlines() if not r.startswith("#")]
    assert len({row.split("\t")[0] for row in rows}) == 50
    for row in rows:
        digest, links = row.split("\t")
        assert len(bytes.fromhex(digest)) == hashlib.sha256().digest_size
        assert all(part.isdigit() for link in links.split() for part in link.split("-"))


def test_every_link_is_between_tokens_of_its_pair(shared_data):
    pairs = corpora.aligned(corpora.load(shared_data / "spa-eng" / "dev.tsv"))
    assert len(pairs) == 50
    for pair in pairs:
        context, target = (len(split_marks(text)) for text in (pair.context, pair.target))
        assert all(0 <= c < context and 0 <= t < target for c, t in pair.links)
        assert len({t for _, t in pair.links}) == pytest.approx(target, abs=4)
