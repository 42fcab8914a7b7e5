import json
import re
import shutil
import subprocess
import sys
import time
import zipfile
from dataclasses import replace

import keras
import numpy as np
import pytest

from keras_attention import models
from keras_attention.decoding.programs import Programs
from keras_attention.plotting import merge_words
from keras_attention.storage import memory, written_whole
from keras_attention.text import SPECIAL_WORDS, Vocabulary, WordPieces, normalize
from keras_attention.translation import folders
from keras_attention.translation.result import Translation, joined, mean_attention
from keras_attention.translation.translator import Translator
from tests.conftest import change_config, sign_files

FILES = ["config.json", "context_vocabulary.txt", "model.keras", "target_vocabulary.txt"]


@pytest.fixture(scope="module")
def translator(tiny_run):
    return tiny_run.translator


@pytest.fixture(scope="module")
def sentences(tiny_run):
    return [pair.context for pair in tiny_run.validation]


@pytest.fixture(scope="module")
def translations(translator, sentences):
    return translator(sentences)


def vocabulary(size):
    letters = [a + b for a in "abcdefgh" for b in "abcdefghijklmnopqrstuvwxyz"]
    return Vocabulary([*SPECIAL_WORDS, *letters[: size - 4]])


def untrained(name="rnn_attention"):
    model = models.build_rnn_attention(29, 31, units=5, name=name)
    return Translator(model, vocabulary(29), vocabulary(31), {"colour": "blue"})


def assert_same(one, other, atol=1e-6):
    assert one.target_tokens == other.target_tokens
    assert one.context_tokens == other.context_tokens
    assert (one.source, one.text, one.finished) == (other.source, other.text, other.finished)
    assert one.weights.keys() == other.weights.keys()
    for name, weights in one.weights.items():
        np.testing.assert_allclose(weights, other.weights[name], atol=atol, err_msg=name)


# Translations


def test_the_tiny_model_says_something(translations):
    # Without this, the tests below could compare empty sentences.
    assert len({translation.text for translation in translations}) > 5
    assert np.mean([len(translation.target_tokens) for translation in translations]) > 3


def test_translations_come_in_the_order_of_the_sentences(translations, sentences):
    assert [translation.source for translation in translations] == sentences


def test_a_sentence_alone_is_translated_as_in_a_batch(translator, translations, sentences):
    for sentence, expected in list(zip(sentences, translations, strict=True))[:7]:
        assert_same(translator(sentence), expected)


def test_the_batch_size_does_not_change_the_translations(translator, translations, sentences):
    for one, other in zip(translator(sentences, batch_size=5), translations, strict=True):
        assert_same(one, other)


def test_without_programs_a_translation_is_the_same(
    translator, translations, sentences, monkeypatch
):
    monkeypatch.setattr(translator, "run_eagerly", True)
    before = translator.programs
    assert_same(translator(sentences[0]), translations[0], atol=1e-5)
    assert translator(sentences[0], beam=2).finished
    assert translator.programs == before


def test_a_longer_neighbour_does_not_change_a_translation(translator, translations, sentences):
    # The neighbour has another bucket, so that all others are padded further.
    longer = " ".join(["casa"] * 19)
    for one, other in zip(translator([longer, *sentences])[1:], translations, strict=True):
        assert_same(one, other)


def test_an_iterable_of_sentences_is_a_list_of_sentences(translator, sentences):
    one, other = translator(s for s in sentences[:2])
    assert [one.source, other.source] == sentences[:2]
    assert translator([]) == []


def test_weights_belong_to_the_tokens(translations):
    for translation in translations:
        shape = (len(translation.target_tokens), len(translation.context_tokens))
        assert translation.attention.shape == shape
        np.testing.assert_allclose(translation.attention.sum(axis=1), 1, atol=1e-5)
        assert (translation.attention >= 0).all()


def test_context_tokens_are_the_words_as_the_user_wrote_them(translator):
    translation = translator("¿Todavía está «EN» casa?")
    expected = ("[START]", "¿", "Todavía", "está", "«EN»", "casa", "?", "[END]")
    assert translation.context_tokens == expected


def test_unknown_words_are_marked(translator):
    known = next(w for w in translator.context_vocabulary.words[4:] if w.isalpha())
    translation = translator(f"{known} zzyzx {known.upper()} zzyzx")
    assert translation.unknown == (2, 4)
    assert translator(known).unknown == ()


def test_a_sentence_without_a_known_word_is_translated_and_they_are_named(translator):
    translation = translator("zzyzx xyzzy zzyzx")
    assert translation.unknown == (1, 2, 3)
    assert translation.unknown_words == ["zzyzx", "xyzzy"]
    assert translation.remark_on_unknown == "the model does not know “zzyzx”, “xyzzy”"


def test_decomposed_accents_translate_as_composed_ones(translator):
    composed, decomposed = translator(["¿Está el niño?", "¿Esta\u0301 el nin\u0303o?"])
    assert composed.text == decomposed.text
    assert composed.context_tokens == decomposed.context_tokens


def test_emoji_among_words_are_carried_along(translator, sentences):
    plain = translator(sentences[0])
    smiling = translator(f"😀 {sentences[0]} 👩‍👩‍👧")
    assert smiling.text == plain.text
    np.testing.assert_allclose(smiling.attention, plain.attention, atol=1e-6)


@pytest.mark.parametrize("odd", ["\ud83d", "\U0001ccd6", "\x00"])
def test_characters_that_tensorflow_or_python_do_not_know_are_carried_along(translator, odd):
    # Half an emoji; a letter of Unicode 16, which few versions of Python know; a zero byte.
    odd_one, plain = translator([f"casa{odd} casa", "casa casa"])
    assert odd_one.context_tokens == ("[START]", f"casa{odd}", "casa", "[END]")
    assert odd_one.text == plain.text
    np.testing.assert_allclose(odd_one.attention, plain.attention, atol=1e-6)


def test_the_limit_of_length_leaves_a_sentence_unfinished(translator, sentences, translations):
    for one, whole in zip(translator(sentences, max_length=2), translations, strict=True):
        assert one.target_tokens == whole.target_tokens[:2]
        assert one.finished == (len(whole.target_tokens) <= 2)
        assert one.attention.shape[0] == len(one.target_tokens)


def test_a_finished_translation_ends_with_the_end(translations):
    finished = [translation for translation in translations if translation.finished]
    assert finished
    for translation in finished:
        assert translation.target_tokens[-1] == "[END]"
        assert "[END]" not in translation.target_tokens[:-1]
        assert normalize(translation.text).split() == [
            word for word in translation.target_tokens[:-1] if word != "[UNK]"
        ]


def test_draws_repeat_with_a_seed(translator, sentences):
    one, same, other = (
        [each.text for each in translator(sentences, temperature=1.3, seed=seed)]
        for seed in (5, 5, 6)
    )
    assert one == same
    assert one != other


def test_a_translation_is_json(translations):
    translation = translations[0]
    read = json.loads(json.dumps(translation.to_dict()))
    assert read["source"] == translation.source
    assert read["translation"] == translation.text
    assert read["context_tokens"] == list(translation.context_tokens)
    assert read["target_tokens"] == list(translation.target_tokens)
    assert (read["unknown"], read["finished"]) == (list(translation.unknown), translation.finished)
    np.testing.assert_allclose(read["attention"], translation.attention)


def test_a_plot_has_the_tokens_and_the_weights(translations, tmp_path):
    axes = translations[0].plot(tmp_path / "casa.svg")
    np.testing.assert_allclose(axes.images[0].get_array(), translations[0].attention, atol=1e-6)
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == list(translations[0].context_tokens)
    assert (tmp_path / "casa.svg").stat().st_size > 0


def test_the_mean_is_over_heads_and_layers():
    heads = np.array([[[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]]])  # (H, T, S) = (2, 1, 3)
    single = np.array([[0.0, 0.0, 1.0]])
    np.testing.assert_allclose(
        mean_attention({"cross_attention": [heads, single]}), [[0.25, 0.25, 0.5]]
    )
    translation = Translation("a", "b", ("a",) * 3, ("b",), {"cross_attention": [heads]}, (), True)
    np.testing.assert_allclose(translation.attention, [[0.5, 0.5, 0.0]])


# Bad sentences


def test_a_forced_translation_has_the_weights_of_the_same_one_that_was_found(
    translations, translator
):
    found = [each for each in translations if each.finished and "[UNK]" not in each.text][:3]
    assert len(found) == 3
    forced = translator.forced([each.source for each in found], [each.text for each in found])
    for one, other in zip(forced, found, strict=True):
        assert_same(one, other)
        assert (one.target_ids, one.candidates) == (other.target_ids, ())
    assert_same(translator.forced(found[0].source, found[0].text), found[0])


def test_what_cannot_be_forced_is_an_error(translator):
    with pytest.raises(ValueError, match="2 sentences and 1 translations"):
        translator.forced(["casa", "casa"], ["house"])
    with pytest.raises(ValueError, match="nothing to translate in ''"):
        translator.forced("casa", "")
    with pytest.raises(ValueError, match="of one sentence; too long: 'house house"):
        translator.forced("casa", "house " * 63)
    with pytest.raises(
        ValueError, match="its translation, or a list of each, got a str and a list"
    ):
        translator.forced("casa", ["house"])


# Texts that are longer than the model takes


def test_a_long_text_is_cut_into_sentences_and_each_has_a_map(translator, sentences):
    long = "casa " * 40 + "casa."
    text = f"{long} {long.strip()} 😀 {sentences[0]}"
    short, whole = translator([sentences[0], text], max_length=7)
    assert (short.parts, short.sentences) == ((), (short,))
    alone = translator([long, f"{long} 😀", sentences[0]], max_length=7)
    assert len(whole.parts) == 3
    for part, expected in zip(whole.parts, alone, strict=True):
        assert part.text == expected.text
        assert part.attention.shape == (len(part.target_tokens), len(part.context_tokens))
        np.testing.assert_allclose(part.attention, expected.attention, atol=1e-6)
    assert whole.source == text
    assert whole.text == " ".join(part.text for part in whole.parts)
    assert whole.weights == {}
    assert [whole.candidates[0].text] == [whole.text]
    assert whole.candidates[0].score == pytest.approx(sum(p.candidates[0].score for p in alone))
    json.dumps(whole.to_dict())
    assert whole.to_dict()["parts"][2]["translation"] == alone[2].text


def test_unknown_words_of_a_text_are_counted_through_its_parts(translator):
    whole = translator("casa " * 61 + "zzyzx xyzzy casa", max_length=3)
    assert [len(part.context_tokens) for part in whole.parts] == [64, 4]
    assert [whole.context_tokens[place] for place in whole.unknown] == ["zzyzx", "xyzzy"]


def test_a_text_says_how_many_of_its_parts_the_limit_cuts_off(translator):
    text = translator("casa " * 130, max_length=1)
    assert text.remark_on_end == "3 of 3 parts stopped after 1 token, before the end"
    assert text.parts[0].remark_on_end == "stopped after 1 token, before the end"
    ended = [replace(part, finished=True) for part in text.parts]
    assert joined(text.source, ended).remark_on_end == ""
    said = joined(text.source, [*ended[:2], text.parts[2]]).remark_on_end
    assert said == "1 of 3 parts stopped after 1 token, before the end"


def test_a_text_in_parts_is_drawn_part_by_part(translator):
    whole = translator("casa " * 63, max_length=3)
    for draw in (whole.plot, whole.plot_grid, whole.view, lambda: whole.attention):
        with pytest.raises(ValueError, match=r"in 2 parts, .*: draw translation.parts\[0\]"):
            draw()


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("", "nothing to translate in '': expected words"),
        (" \t\n ", "nothing to translate"),
        ("😀 👩‍👩‍👧", "nothing to translate in '😀"),
        ("中文 1234 ***", "nothing to translate"),
        ("." * 63, "without blanks has at most 62 words and punctuation marks, got 63"),
        ("casa " * 209_715, r"at most 10,000 characters, got 1,048,575 in 'casa casa"),
        ("a" * 2**20, r"at most 10,000 characters, got 1,048,576 in 'aaaaa"),
    ],
    ids=["empty", "spaces", "emoji", "no letters", "63 marks", "1 MB", "1 MB word"],
)
def test_what_is_no_sentence_is_an_error_at_once(sentence, message):
    translator = untrained_once()
    before = time.perf_counter()
    with pytest.raises(ValueError, match=message) as error:
        translator([sentence, "casa"])
    assert time.perf_counter() - before < 2
    assert len(str(error.value)) < 200


def untrained_once(cache=[]):  # noqa: B006
    if not cache:
        cache.append(untrained())
    return cache[0]


def test_the_longest_sentence_is_translated(translator):
    translation = translator("casa " * 62, max_length=3)
    assert translation.context_tokens == ("[START]", *["casa"] * 62, "[END]")
    assert translation.attention.shape == (len(translation.target_tokens), 64)
    np.testing.assert_allclose(translation.attention.sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_length": 0}, "max_length must be at least 1, got 0"),
        (
            {"temperature": -0.5},
            r"temperature must be 0 \(greedy\) or from 1e-30 to 1e\+30, got -0.5",
        ),
        ({"temperature": float("nan")}, "temperature must be 0 .* got nan"),
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"seed": -1}, "seed must be 0 or above, got -1"),
    ],
)
def test_an_argument_out_of_range_is_an_error_that_names_it(options, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        untrained_once()("casa", **options)


def test_the_batch_size_is_checked_where_translations_are_given():
    with pytest.raises(ValueError, match=r"^batch_size must be at least 1, got 0$"):
        untrained_once().forced("casa", "house", batch_size=0)


# Save and load


def test_vocabularies_must_belong_to_the_model():
    model = untrained_once().model
    with pytest.raises(ValueError, match="writes 31 words, the target vocabulary has 30"):
        Translator(model, vocabulary(29), vocabulary(30))
    with pytest.raises(ValueError, match="reads 29 words, the context vocabulary has 31"):
        Translator(model, vocabulary(31), vocabulary(31))


def test_a_loaded_translator_is_the_same(translator, sentences, translations, tmp_path):
    translator.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == FILES
    loaded = Translator.load(tmp_path)
    assert loaded.context_vocabulary.words == translator.context_vocabulary.words
    assert loaded.target_vocabulary.words == translator.target_vocabulary.words
    for one, other in zip(loaded(sentences[:5]), translations[:5], strict=True):
        assert_same(one, other)


@pytest.mark.thorough
@pytest.mark.xla
def test_a_fresh_process_gives_identical_translations_and_weights(tiny_run, sentences):
    program = """
import json, sys
from keras_attention import Translator
translator = Translator.load(sys.argv[1])
print(json.dumps([each.to_dict() for each in translator(json.loads(sys.argv[2]))]))
"""
    command = [sys.executable, "-c", program, str(tiny_run.folder), json.dumps(sentences)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    translations = Translator.load(tiny_run.folder)(sentences)
    for found, expected in zip(json.loads(result.stdout), translations, strict=True):
        assert found == expected.to_dict()  # to the last bit


# Pieces of words, and a Transformer


@pytest.fixture(scope="module")
def with_pieces(short_pairs):
    """Return an untrained Transformer of two layers with three heads, over pieces of words."""
    pytest.importorskip("tensorflow_text")  # learns the pieces
    keras.utils.set_random_seed(7)
    pieces = [
        WordPieces.learn([getattr(pair, side) for pair in short_pairs], size=151)
        for side in ("context", "target")
    ]
    model = models.build_transformer(
        *map(len, pieces),
        units=18,
        num_layers=2,
        num_heads=3,
        feed_forward_dim=13,
        positions="learned",
        max_positions=70,
    )
    return Translator(model, *pieces)


def test_every_head_of_all_three_kinds_of_attention_is_there(with_pieces):
    translation = with_pieces("¿Comieron los niños?", max_length=7)
    count, written = len(translation.context_tokens), len(translation.target_tokens)
    shapes = {
        "cross_attention": (written, count),
        "encoder_self_attention": (count, count),
        "decoder_self_attention": (written, written),
    }
    assert set(translation.weights) == set(shapes)
    for kind, layers in translation.weights.items():
        assert [weights.shape for weights in layers] == 2 * [(3, *shapes[kind])]
        np.testing.assert_allclose(np.sum(layers, axis=-1), 1, atol=1e-5, err_msg=kind)
    for of in ("cross", "encoder", "decoder"):
        assert with_pieces.heads(of) == [3, 3]


def test_pieces_keep_what_was_written_and_know_their_words(with_pieces):
    translation = with_pieces("¿Comieron los Niños?", max_length=3)
    words = merge_words(translation.context_tokens, translation.context_groups)
    assert words == ["[START]", "¿", "Comieron", "los", "Niños", "?", "[END]"]
    places = [place for group in translation.target_groups for place in group]
    assert places == list(range(len(translation.target_tokens)))


def test_candidates_come_best_first_and_a_beam_of_one_is_greedy(with_pieces, sentences):
    greedy = with_pieces(sentences[:5], max_length=9)
    for one, same in zip(greedy, with_pieces(sentences[:5], max_length=9, beam=1), strict=True):
        assert_same(one, same)
    for translation in with_pieces(sentences[:5], max_length=9, beam=4, n_best=3):
        assert translation.text == translation.candidates[0].text
        scores = [candidate.score for candidate in translation.candidates]
        assert len(scores) == 3
        assert scores == sorted(scores, reverse=True)


def test_log_probabilities_are_those_of_the_words_that_were_written(with_pieces, sentences):
    translation = with_pieces(sentences[0], max_length=9, beam=3)
    pieces, ids = with_pieces.target_vocabulary, with_pieces.context_vocabulary.ids(sentences[:1])
    (generated,) = with_pieces.generate(ids, max_length=9, beam=3)[0]
    tokens = [number for number in generated.tokens if number]
    target = np.array([[2, *tokens[:-1]]])
    logits = keras.ops.convert_to_numpy(with_pieces.model({"context": ids, "target": target}))
    likely = keras.ops.convert_to_numpy(keras.ops.log_softmax(logits, axis=-1))[0]
    expected = sum(likely[place, number] for place, number in enumerate(tokens))
    assert translation.candidates[0].log_probability == pytest.approx(expected, abs=1e-4)
    assert translation.text == pieces.join(pieces.words_of(tokens))


@pytest.mark.thorough
@pytest.mark.xla
def test_a_fresh_process_gives_identical_candidates_of_pieces(with_pieces, sentences, tmp_path):
    with_pieces.save(tmp_path)
    program = """
import json, sys
from keras_attention import Translator
translator = Translator.load(sys.argv[1])
translations = translator(json.loads(sys.argv[2]), max_length=9, beam=2, n_best=2)
print(json.dumps([each.to_dict() for each in translations]))
"""
    command = [sys.executable, "-c", program, str(tmp_path), json.dumps(sentences[:3])]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    expected = Translator.load(tmp_path)(sentences[:3], max_length=9, beam=2, n_best=2)
    for found, translation in zip(json.loads(result.stdout), expected, strict=True):
        assert found == translation.to_dict()


def test_a_sentence_longer_than_the_positions_is_an_error(with_pieces):
    with pytest.raises(ValueError, match=r"^max_length must be at most 70, the model.* got 71$"):
        with_pieces("Los niños.", max_length=71)
    with pytest.raises(ValueError, match=r"as many tokens as the model has positions, 70, got 71"):
        with_pieces.generate(np.full((2, 71), 4), max_length=3)
    with pytest.raises(ValueError, match=r"as many tokens as the model has positions, 70, got 71"):
        with_pieces.attend(np.full((1, 3), 4), [[4] * 71])


@pytest.mark.parametrize("eagerly", [True, False])
def test_only_what_is_compiled_computes_copies_of_sentences(eagerly, monkeypatch):
    translator, rows = untrained_once(), []
    translator.run_eagerly = eagerly
    predict = Programs.predict_on_batch

    def counted(programs, inputs, run_eagerly=False):
        rows.extend(len(ids) for ids in keras.tree.flatten(inputs) if np.ndim(ids) == 2)
        return predict(programs, inputs, run_eagerly)

    monkeypatch.setattr(Programs, "predict_on_batch", counted)
    translator(["casa", "la casa"], max_length=2, batch_size=5)
    assert set(rows) == {2 if eagerly or keras.backend.backend() == "torch" else 5}


def test_vocabularies_of_another_model_are_an_error(with_pieces, tmp_path):
    with_pieces.save(tmp_path)
    path = tmp_path / "target_vocabulary.txt"
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[5], lines[6] = lines[6], lines[5]
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(ValueError, match=r"target_vocabulary\.txt is not the file that was writte"):
        Translator.load(tmp_path)
    vocabulary(len(with_pieces.target_vocabulary)).save(path)
    sign_files(tmp_path)
    with pytest.raises(ValueError, match="expected word pieces, some with ## or ￭, got only w"):
        Translator.load(tmp_path)


def test_the_configuration_is_kept(tmp_path):
    untrained_once().save(tmp_path / "new" / "folder")
    loaded = Translator.load(tmp_path / "new" / "folder")
    assert loaded.config["colour"] == "blue"
    assert loaded.config["format"] == 3


@pytest.fixture
def saved(tmp_path):
    folder = tmp_path / "model"
    untrained_once().save(folder)
    return folder


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_saving_again_replaces_the_files(saved):
    before = contents(saved)
    changed = untrained()
    changed.save(saved)
    assert contents(saved).keys() == before.keys()
    loaded = Translator.load(saved)
    for one, other in zip(loaded.model.weights, changed.model.weights, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("size", [0, 1009, 20_011])
def test_a_full_disk_leaves_the_folder_as_it_was(saved, full_disk, size):
    before = contents(saved)
    with full_disk(size), pytest.raises(OSError, match=r"\S"):
        untrained().save(saved)
    assert contents(saved) == before


@pytest.mark.parametrize("failing", FILES)
def test_a_write_that_fails_leaves_the_folder_as_it_was(saved, failing, monkeypatch):
    def failing_write(path):
        if path.name == failing:
            raise OSError("no space left")
        return written_whole(path)

    before = contents(saved)
    monkeypatch.setattr(folders, "written_whole", failing_write)
    with pytest.raises(OSError, match="no space left"):
        untrained().save(saved)
    assert contents(saved) == before


def test_a_write_that_fails_leaves_no_new_folder(tmp_path, full_disk):
    with full_disk(1009), pytest.raises(OSError, match=r"\S"):
        untrained_once().save(tmp_path / "new" / "folder")
    assert not (tmp_path / "new").exists()


def test_a_missing_folder_is_not_found(tmp_path):
    (tmp_path / "file").write_text("")
    for name in ("none", "file"):
        with pytest.raises(FileNotFoundError, match=f"there is no model folder .*{name}"):
            Translator.load(tmp_path / name)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(saved, name):
    (saved / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"is incomplete: {name} missing"):
        Translator.load(saved)


def test_a_folder_of_another_version_says_which(saved):
    config = {"format": 4, "keras_attention": "7.0.0"}
    (saved / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=r"has format 4, .* reads 3; .* keras_attention 7\.0\.0"):
        Translator.load(saved)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", " is not JSON"),
        (b"{", " is not JSON"),
        (b"\xff\xfe{}", " is not JSON"),
        (b"[1]", r": the contents must be an object, got \[1\]"),
        (b"null", ": the contents must be an object, got None"),
        (b"{}", ": the contents must have format"),
        (b'{"format": 3}', " is not the file that was written"),
        (b'{"a":' * 10**5 + b"1" + b"}" * 10**5, " has values inside each other more than 16"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_damaged_configuration_is_an_error(saved, content, message):
    (saved / "config.json").write_bytes(content)
    with pytest.raises(ValueError, match=rf"config\.json{message}"):
        Translator.load(saved)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"tokens": ["word"]}, r"tokens must be a text, got \['word'\]"),
        ({"tokens": None}, "tokens must be a text, got None"),
        ({"tokens": "letter"}, "tokens must be one of word, wordpiece, got 'letter'"),
        ({"files": 7}, "files must be an object, got 7"),
        ({"files": ...}, "the contents must have files, got"),
        ({"files": {}}, "files must hold the hashes of context_.*, model.keras, .* got .* none"),
        ({"files": {"model.keras": 7}}, "files.model.keras must be a text, got 7"),
        ({"languages": ["Spanish"]}, r"languages must be a list of 2, got \['Spanish'\]"),
        ({"alignment_head": {"layer": "2"}}, "alignment_head.layer must be true or false or a wh"),
    ],
)
def test_a_configuration_with_a_wrong_field_is_an_error(saved, values, message):
    change_config(saved, **values)
    with pytest.raises(ValueError, match=rf"config\.json: {message}"):
        Translator.load(saved)


def test_any_changed_byte_of_a_folder_is_noticed(saved):
    for path in saved.iterdir():
        content = path.read_bytes()
        for changed in (content[:-1], content + b"\0", bytes([content[0] ^ 1]) + content[1:]):
            path.write_bytes(changed)
            with pytest.raises(ValueError, match=re.escape(path.name)):
                Translator.load(saved)
        path.write_bytes(content)
    Translator.load(saved)


def test_weights_that_are_not_finite_are_an_error(saved):
    path = saved / "model.keras"
    model = keras.saving.load_model(path, compile=False)
    for number in (np.nan, np.inf):
        model.weights[2].assign(np.full(model.weights[2].shape, number))
        model.save(path)
        sign_files(saved)
        with pytest.raises(ValueError, match=r"model\.keras must have finite weights, .* weight 2"):
            Translator.load(saved)


def test_a_model_that_is_no_translator_is_an_error(saved):
    inputs = keras.Input((3,), name="context")
    outputs = keras.layers.Dense(31, name="encoder")(inputs)
    keras.Model(inputs, outputs).save(saved / "model.keras")
    sign_files(saved)
    with pytest.raises(ValueError, match=r"holds no translator: expected .* \['context'\]"):
        Translator.load(saved)


def test_a_model_that_does_not_fit_into_memory_is_an_error(saved, monkeypatch):
    monkeypatch.setattr(memory, "machine_memory", lambda: 1000)
    with pytest.raises(
        ValueError, match=r"model\.keras cannot be loaded: .* of memory, this machi"
    ):
        Translator.load(saved)


def damages(content):
    """Cut a file off or turn bits of it over, at many places."""
    for share in (0.0, 0.01, 0.3, 0.7, 0.99):
        yield content[: int(share * len(content))]
    for place in range(211, len(content), len(content) // 13):
        turned = bytes(255 - byte for byte in content[place : place + 97])
        yield content[:place] + turned + content[place + 97 :]


def test_a_damaged_model_file_is_an_error(saved):
    path = saved / "model.keras"
    for damaged in damages(path.read_bytes()):
        path.write_bytes(damaged)
        sign_files(saved)
        with pytest.raises(ValueError, match=r"model\.keras cannot be loaded") as error:
            Translator.load(saved)
        assert len(str(error.value)) < 1000


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_model_file_whose_compressed_data_is_broken_is_an_error(saved, method):
    path = saved / "model.keras"
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        start = archive.getinfo("config.json").header_offset + 60
    content = path.read_bytes()
    path.write_bytes(content[:start] + b"\xff" * 31 + content[start + 31 :])
    sign_files(saved)
    with pytest.raises(ValueError, match=r"model\.keras cannot be loaded"):
        Translator.load(saved)


def test_a_model_of_other_layers_is_an_error(saved):
    path = saved / "model.keras"
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["config.json"] = members["config.json"].replace(b"CrossAttention", b"CrossStitching")
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    sign_files(saved)
    with pytest.raises(ValueError, match=r"model\.keras cannot be loaded") as error:
        Translator.load(saved)
    assert len(str(error.value)) < 1000


def test_a_model_that_carries_code_is_an_error(saved):
    inputs = keras.Input((None,), dtype="int32")
    keras.Model(inputs, keras.layers.Lambda(lambda x: x + 1)(inputs)).save(saved / "model.keras")
    sign_files(saved)
    with pytest.raises(ValueError, match=r"model\.keras cannot be loaded"):
        Translator.load(saved)


@pytest.mark.parametrize("name", ["context_vocabulary.txt", "target_vocabulary.txt"])
def test_a_vocabulary_of_another_size_is_an_error(saved, name):
    with (saved / name).open("a") as file:
        file.write("another\n")
    sign_files(saved)
    with pytest.raises(ValueError, match="they do not belong together"):
        Translator.load(saved)
    (saved / name).write_text("hola\n")
    sign_files(saved)
    with pytest.raises(ValueError, match=f"{name} is not a vocabulary"):
        Translator.load(saved)


def test_a_folder_can_be_copied(saved, tmp_path):
    shutil.copytree(saved, tmp_path / "copy")
    shutil.rmtree(saved)
    assert Translator.load(tmp_path / "copy").config["colour"] == "blue"
