import pytest

from keras_attention.text import cut_text


def words(parts):
    return [len(part.split()) for part in parts]


@pytest.mark.parametrize(
    ("text", "most", "parts"),
    [
        ("  Hola.  ", 3, ["Hola."]),
        ("Hola. Adiós.", 2, ["Hola. Adiós."]),  # short enough: one part
        ("¿Qué tal? ¡Bien! Me voy.", 3, ["¿Qué tal?", "¡Bien!", "Me voy."]),
        ("«¿Vienes?» Dijo que no… Y se fue.", 4, ["«¿Vienes?»", "Dijo que no…", "Y se fue."]),
        ("Cuesta 3.50 euros hoy. Es caro.", 4, ["Cuesta 3.50 euros hoy.", "Es caro."]),
        ("La Sra. Paz y el Dr. Gil cenan. Bien.", 8, ["La Sra. Paz y el Dr. Gil cenan.", "Bien."]),
        ("uno, dos, tres, cuatro, cinco", 2, ["uno, dos,", "tres, cuatro,", "cinco"]),
        ("uno dos tres cuatro cinco", 2, ["uno dos", "tres cuatro", "cinco"]),
        ("uno dos tres, cuatro cinco", 2, ["uno dos", "tres,", "cuatro cinco"]),
        ("No sé. . . . Puede ser.", 5, ["No sé. . . .", "Puede ser."]),
        (". . . . . . .", 3, [". . .", ". . .", "."]),
        ("", 3, [""]),
    ],
)
def test_a_text_is_cut_at_sentences_then_commas_then_blanks(text, most, parts):
    assert cut_text(text, words, most) == parts


def test_nothing_is_lost_and_no_word_is_cut():
    text = "Vino, vio y venció. " * 7 + "sin fin " * 31 + "¿O no?"
    for most in (1, 2, 3, 5, 50):
        parts = cut_text(text, words, most)
        assert " ".join(parts).split() == text.split()
        assert max(words(parts)) <= most


def test_a_word_that_is_too_long_stays_whole():
    def letters(parts):
        return list(map(len, parts))

    assert cut_text("sí, constantinopla no", letters, 5) == ["sí,", "constantinopla", "no"]
