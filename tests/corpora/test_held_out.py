from keras_attention import corpora
from keras_attention.corpora import Pair
from keras_attention.storage import bundled


def test_a_pair_is_known_by_its_hash():
    pairs = [Pair("Hola.", "Hello."), Pair("Tom perdió su trabajo.", "Tom has lost his job.")]
    assert corpora.held_out(pairs) == pairs[1:]


def test_the_file_holds_no_sentence():
    lines = bundled("translators", "held_out.txt").read_text(encoding="ascii").splitlines()[1:]
    assert len(lines) == len(set(lines)) == 2367
    assert all(len(bytes.fromhex(line)) == 8 for line in lines)


def test_what_was_held_out_shares_no_sentence_with_what_was_not(shared_data):
    pairs = corpora.load(shared_data / "spa-eng" / "spa.txt")
    scored = corpora.held_out(pairs)
    assert scored == corpora.load(shared_data / "spa-eng" / "dev.tsv")
    others = set(pairs) - set(scored)
    for side in ("context", "target"):
        assert not {getattr(p, side) for p in scored} & {getattr(p, side) for p in others}
