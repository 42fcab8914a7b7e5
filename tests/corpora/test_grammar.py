"""The bundled corpus: read from outside, by its text, as a reader of Spanish and English would."""

import codecs
import csv
import re
import shutil
import unicodedata
from collections import Counter
from itertools import pairwise

import pytest

from keras_attention.corpora.grammar import AlignedPair, Grammar
from keras_attention.storage import bundled

DATA = bundled()
MARKS = set(".?!,¿")
VOWELS = tuple("aeiou")
TINY = {
    "grammar.txt": """# a tiny grammar
word Noun nouns.tsv spanish = english
contract a el -> al
elide a -> an
1 Sentence -> veo a el Noun[gender=m] . = "I"~veo see~veo the~el Noun .~.
2 Sentence -> veo una Noun[gender=f] . = "I"~veo see~veo a~una Noun .~.
""",
    "nouns.tsv": "english\tgender=\tspanish\nboy\tm\tniño\napple\tf\tmanzana\npear\tf\tpera\n",
}


def tokens(sentence):
    return re.findall(r"[^\W\d_]+|[.?!,¿]", sentence)


def stripped(sentence):
    decomposed = unicodedata.normalize("NFD", sentence.lower())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def table(name):
    lines = DATA.joinpath(name).read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader([x for x in lines if not x.startswith("#")], delimiter="\t"))


@pytest.fixture(scope="module")
def grammar():
    return Grammar.load()


@pytest.fixture(scope="module")
def pairs(grammar):
    return grammar.generate(15_000)


@pytest.fixture(scope="module")
def many_pairs(grammar):
    """Enough for what is rare."""
    return grammar.generate(50_000)


@pytest.fixture
def tiny(tmp_path):
    for name, text in TINY.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def aligned(pair):
    """Each English token with the Spanish tokens it links to."""
    spanish, english = tokens(pair.context), tokens(pair.target)
    return [(word, [spanish[i] for i, k in pair.links if k == j]) for j, word in enumerate(english)]


@pytest.mark.thorough
def test_fifty_thousand_distinct_pairs(many_pairs):
    assert len({pair.context for pair in many_pairs}) == 50_000
    assert len({pair.target for pair in many_pairs}) > 45_000


def test_spanish_determines_english_even_without_accents(pairs):
    translations = {}
    for pair in pairs:
        translations.setdefault(stripped(pair.context), set()).add(pair.target)
    assert [key for key, found in translations.items() if len(found) > 1] == []


def test_sentences_are_written_as_sentences(pairs):
    for context, target, _ in pairs:
        assert re.fullmatch(r"¿[^\W\d_][^.?!¿]*\?|[^\W\d_][^.?!¿]*\.", context), context
        assert re.fullmatch(r"[A-Z][^.?!¿]*[.?]", target), target
        assert context.lstrip("¿")[0].isupper(), context
        assert context[-1] == target[-1]
        assert "".join(tokens(context)) == context.replace(" ", "")
        assert "".join(tokens(target)) == target.replace(" ", "")


def test_lengths_and_vocabulary_stay_small(pairs):
    lengths = [len(tokens(pair.context)) for pair in pairs]
    assert min(lengths) == 3
    assert max(lengths) <= 16
    assert 6.5 < sum(lengths) / len(lengths) < 8
    assert 250 <= len({w.lower() for pair in pairs for w in tokens(pair.context)}) <= 460
    assert 200 <= len({w.lower() for pair in pairs for w in tokens(pair.target)}) <= 300


def test_every_target_token_links_into_the_context(pairs):
    for pair in pairs:
        spanish, english = tokens(pair.context), tokens(pair.target)
        assert all(0 <= i < len(spanish) for i, _ in pair.links), pair
        assert {j for _, j in pair.links} == set(range(len(english))), pair
        assert len(set(pair.links)) == len(pair.links)
        assert (len(spanish) - 1, len(english) - 1) == pair.links[-1]


def test_links_join_words_that_translate_each_other(pairs):
    dictionary = {}
    for row in table("nouns.tsv"):
        dictionary[row["english"]] = {row["spanish"]}
        dictionary[row["plural"]] = {row["spanish plural"]}
    for row in table("adjectives.tsv"):
        if row["english"] not in ("open", "old"):  # also a verb, also "years old"
            dictionary[row["english"]] = {row[c] for c in ("m", "f", "m plural", "f plural")}
    dictionary.update({"not": {"no"}, "never": {"nunca"}, "the": {"el", "la", "los", "las", "al"}})
    dictionary.update({",": {","}, "?": {"?"}, ".": {"."}, "three": {"tres"}, "and": {"y"}})
    dictionary.update({"it": {"lo", "la"}, "them": {"los", "las"}, "him": {"lo"}, "her": {"la"}})
    del dictionary["-"]
    seen = Counter()
    for pair in pairs:
        for word, sources in aligned(pair):
            if word.lower() in dictionary:
                seen[word.lower()] += 1
                assert len(sources) == 1, pair
                assert sources[0].lower() in dictionary[word.lower()], (word, pair)
    assert seen.keys() == dictionary.keys()


@pytest.mark.thorough
def test_do_and_dropped_pronouns_link_to_the_conjugated_verb(many_pairs):
    finite = {
        form: column
        for row in table("verbs.tsv")
        for column, form in row.items()
        if column.split()[0] in ("yo", "tú", "él", "nosotros", "ellos")
    }
    liking = {"gusta", "gustan", "gustó", "gustaron"}
    count = 0
    for pair in many_pairs:
        for word, sources in aligned(pair):
            if word.lower() in ("do", "does", "did"):
                count += 1
                assert len(sources) == 1, pair
                assert sources[0].lower() in finite.keys() | liking, pair
    assert count > 10_000
    assert finite["compramos"] in ("nosotros", "nosotros ayer")


@pytest.mark.parametrize(
    ("article", "gender", "number"),
    [
        ("el", "m", "spanish"),
        ("la", "f", "spanish"),
        ("los", "m", "spanish plural"),
        ("las", "f", "spanish plural"),
        ("un", "m", "spanish"),
        ("unas", "f", "spanish plural"),
        ("nuestro", "m", "spanish"),
        ("estas", "f", "spanish plural"),
    ],
)
def test_nouns_and_adjectives_agree_with_the_article(pairs, article, gender, number):
    nouns = {
        row[c]: (row["gender="], c)
        for row in table("nouns.tsv")
        for c in ("spanish", "spanish plural")
    }
    forms = {"m": "m", "f": "f"} if number == "spanish" else {"m": "m plural", "f": "f plural"}
    adjectives = {form for row in table("adjectives.tsv") for form in list(row.values())[3:]}
    agreeing = {row[forms[gender]] for row in table("adjectives.tsv")}
    seen = Counter()
    for pair in pairs:
        words = [word.lower() for word in tokens(pair.context)]
        for first, second, third in zip(words, words[1:], words[2:], strict=False):
            if first == article and second in nouns:
                assert nouns[second] == (gender, number), pair.context
                seen["noun"] += 1
                if third in adjectives:
                    assert third in agreeing, pair.context
                    seen["adjective"] += 1
    assert seen["noun"] > 100
    assert seen["adjective"] > 30


def test_numbers_stand_before_plurals(pairs):
    plurals = {row["spanish plural"] for row in table("nouns.tsv")} | {"años", "días"}
    numbers = {"dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez"}
    seen = 0
    for pair in pairs:
        words = [word.lower() for word in tokens(pair.context)]
        for first, second in pairwise(words):
            if first in numbers:
                seen += 1
                assert second in plurals, pair.context
    assert seen > 2500


def test_verbs_agree_with_explicit_subjects(pairs):
    people = {
        "yo": "yo",
        "tú": "tú",
        "él": "él",
        "ella": "él",
        "nosotros": "nosotros",
        "ellos": "ellos",
    }
    allowed = {
        person: {
            form for row in table("verbs.tsv") for c, form in row.items() if c.split()[0] == column
        }
        for person, column in people.items()
    }
    finite = set().union(*allowed.values())
    seen = Counter()
    for pair in pairs:
        words = [word.lower() for word in tokens(pair.context)]
        if words[0] in allowed and words[1] in finite:
            seen[words[0]] += 1
            assert words[1] in allowed[words[0]], pair.context
    assert len(seen) == len(people)


def test_english_articles_before_vowels_and_consonants(pairs):
    seen = Counter()
    for pair in pairs:
        words = [word.lower() for word in tokens(pair.target)]
        for first, second in pairwise(words):
            if first in ("a", "an"):
                seen[first] += 1
                assert (first == "an") == second.startswith(VOWELS), pair.target
    assert seen["an"] > 100
    assert seen["a"] > 100


@pytest.mark.thorough
def test_do_support_takes_the_base_form(many_pairs):
    bases = {row["english"].split()[0] for row in table("verbs.tsv")} | {"like"}
    seen = 0
    for pair in many_pairs:
        words = [word.lower() for word in tokens(pair.target)]
        if words[0] in ("do", "does", "did"):
            assert pair.context[0] == "¿"
            assert bases & set(words[2:]), pair.target
        for first, second, third in zip(words, words[1:], words[2:], strict=False):
            if first in ("do", "does", "did") and second == "not":
                seen += 1
                assert third in bases, pair.target
                assert "no" in tokens(pair.context.lower()), pair
    assert seen > 5000


@pytest.mark.thorough
def test_spanish_contracts_and_english_does_not(many_pairs):
    assert not any(re.search(r"\ba el\b", pair.context) for pair in many_pairs)
    assert sum(" al " in pair.context for pair in many_pairs) > 300
    assert not any("'" in pair.target for pair in many_pairs)


def test_every_construction_has_its_share(pairs):
    def share(pattern, side="context"):
        return sum(bool(re.search(pattern, getattr(p, side))) for p in pairs) / len(pairs)

    assert share("^¿") > 0.2
    assert share(r"\b[Nn]o\b") > 0.15
    assert share(r"\b(it|him|her|them|me|us)\b", "target") > 0.1
    assert share(r"\b(did|was|were|bought|ate|saw|went|found)\b", "target") > 0.15
    assert share(r"\b(dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez)\b") > 0.1
    assert share(r"\b([Gg]ust\w+)\b") > 0.05
    assert share(r"^(I|We|You|They)\b", "target") - share(r"^(Yo|Tú|[NE]\w*os|[NE]\w*as)\b") > 0.1


@pytest.mark.parametrize(
    ("context", "target", "links"),
    [
        ("Veo al niño.", "I see the boy.", ((0, 0), (0, 1), (1, 2), (2, 3), (3, 4))),
        ("Veo una manzana.", "I see an apple.", ((0, 0), (0, 1), (1, 2), (2, 3), (3, 4))),
    ],
)
def test_contractions_and_elisions_keep_the_links(tiny, context, target, links):
    assert AlignedPair(context, target, links) in Grammar.load(tiny).generate(3)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("shape", "example"),
    [
        (r"¿\w+ron l[oa]s \w+ la \w+ \w+\?", r"Did the \w+ \w+( for)? the \w+ \w+\?"),
        (r"No la \w+\.", r"(I|You|We|They) (do|did) not \w+( for)? (it|her)\."),
        (r"Me gustan los \w+ \w+\.", r"I like the \w+ \w+\."),
        (r"Ana tiene \w+ años\.", r"Ana is \w+ years old\."),
        (r"Marta \w+ una? \w+ y l[oa] \w+\.", r"Marta \w+ an? \w+ and \w+ it\."),
    ],
)
def test_typical_sentences_have_their_translation(many_pairs, shape, example):
    found = [pair for pair in many_pairs if re.fullmatch(shape, pair.context)]
    assert found
    assert [pair for pair in found if not re.fullmatch(example, pair.target)] == []


HAND_WRITTEN = """
¿ Comieron los niños la manzana roja ? | Did/1 the/2 boys/3 eat/1 the/4 red/6 apple/5 ?/7
El niño no comió una manzana . | The/0 boy/1 did/3 not/2 eat/3 an/4 apple/5 ./6
Yo la como . | I/0 eat/2 it/1 ./3
No las comimos . | We/2 did/2 not/0 eat/2 them/1 ./3
Tres niños comen las manzanas rojas . | Three/0 boys/1 eat/2 the/3 red/5 apples/4 ./6
No me gustan las manzanas . | I/1 do/2 not/0 like/2 the/3 apples/4 ./5
Sí , las manzanas son rojas . | Yes/0 ,/1 the/2 apples/3 are/4 red/5 ./6
¿ Qué comió Ana ayer ? | What/1 did/2 Ana/3 eat/2 yesterday/4 ?/5
Hace tres días comimos la manzana . | Three/1 days/2 ago/0 we/3 ate/3 the/4 apple/5 ./6
"""


@pytest.fixture(scope="module")
def few_words(tmp_path_factory):
    """What the grammar says with hardly more words than those of the examples, by context."""
    folder = tmp_path_factory.mktemp("few")
    unwanted = "Number -> (?!tres)|mine=yes] -> |-> est[aeo]s? =|-> un[ao]s =|Pedro|Luis|copula=est"
    rules = DATA.joinpath("grammar.txt").read_text(encoding="utf-8").splitlines()
    rules = [rule for rule in rules if not re.search(unwanted, rule) or "-> mi " in rule]
    (folder / "grammar.txt").write_text("\n".join(rules), encoding="utf-8")
    for name, word in [("nouns", "boy|apple"), ("adjectives", "red"), ("verbs", "eat")]:
        rows = DATA.joinpath(f"{name}.tsv").read_text(encoding="utf-8").splitlines()
        rows = [row for row in rows if re.match(rf"({word}|english)\t", row)]
        (folder / f"{name}.tsv").write_text("\n".join(rows), encoding="utf-8")
    return {tuple(tokens(p.context)): p for p in Grammar.load(folder).generate(6000)}


@pytest.mark.parametrize("line", HAND_WRITTEN.strip().splitlines())
def test_hand_written_pairs_can_be_generated(few_words, line):
    context, target = (side.split() for side in line.split(" | "))
    pair = few_words[tuple(context)]
    assert tokens(pair.target) == [word.split("/")[0] for word in target]
    assert pair.links == tuple((int(word.split("/")[1]), j) for j, word in enumerate(target))


def test_a_dropped_subject_in_a_question_and_its_links(pairs):
    found = [p for p in pairs if re.fullmatch(r"¿[A-Z]\w+s(te)? la \w+\?", p.context)]
    assert found
    for pair in found:
        if pair.target.startswith(("Do you", "Did you")) and "look for" not in pair.target:
            assert pair.links == ((1, 0), (1, 1), (1, 2), (2, 3), (3, 4), (4, 5)), pair


def test_the_seed_decides(grammar):
    assert Grammar.load().generate(200, seed=3) == grammar.generate(200, seed=3)
    assert grammar.generate(100, seed=3) == grammar.generate(200, seed=3)[:100]
    common = {p.context for p in grammar.generate(200, seed=3)} & {
        p.context for p in grammar.generate(200, seed=4)
    }
    assert len(common) < 20


def test_a_seed_gives_the_same_sentence_on_every_machine(grammar):
    assert grammar.generate(1, seed=1)[0] == AlignedPair(
        "No estuve cansado.", "I was not tired.", ((1, 0), (1, 1), (0, 2), (2, 3), (3, 4))
    )


def test_a_small_grammar_gives_all_its_sentences(tiny):
    grammar = Grammar.load(tiny)
    assert grammar.size == 3
    assert {pair.context for pair in grammar.generate(3, seed=7)} == {
        "Veo al niño.",
        "Veo una manzana.",
        "Veo una pera.",
    }


def test_a_count_beyond_the_grammar_is_refused(grammar, tiny):
    with pytest.raises(ValueError, match="at least 1, got 0"):
        grammar.generate(0)
    with pytest.raises(ValueError, match=f"at most {grammar.size}"):
        grammar.generate(10**15)
    with (tiny / "nouns.tsv").open("a", encoding="utf-8") as file:
        file.write("pear\tf\tpera\n")
    with pytest.raises(ValueError, match="gives 3 distinct sentences, got count=4"):
        Grammar.load(tiny).generate(4)


@pytest.mark.parametrize(
    ("name", "line", "text", "complaint"),
    [
        ("grammar.txt", 5, "Sentence -> veo", "expected a rule"),
        ("grammar.txt", 5, "1 Sentence -> veo Nuon . = see~veo Nuon .~.", "Nuon has no rules"),
        ("grammar.txt", 5, "1 Sentence -> veo Noun = see~ver Noun", "~ver names nothing"),
        ("grammar.txt", 5, "1 Sentence -> veo Noun[size=big] = Noun", "no feature 'size'"),
        ("grammar.txt", 5, "1 Sentence -> veo Noun[size = Noun", "cannot read"),
        ("grammar.txt", 5, "1 Sentence -> Noun = Noun.third", "no column 'third'"),
        ("grammar.txt", 5, "1 Sentence -> veo Noun Noun = Noun", "Noun occurs twice"),
        ("grammar.txt", 5, "1 Sentence -> veo Sentence = see Sentence", "leads back to itself"),
        ("grammar.txt", 5, "1 Sentence -> veo 2 = see", "letters"),
        ("grammar.txt", 2, "word Noun verbs.tsv spanish = english", "no table verbs.tsv"),
        ("grammar.txt", 2, "word Noun nouns.tsv spanisch = english", "no column 'spanisch'"),
        ("nouns.tsv", 3, "apple\tf", "expected 3 filled columns"),
        ("nouns.tsv", 3, "apple\tf\t", "expected 3 filled columns"),
        ("nouns.tsv", 3, "apple\tf\tman-zana", "word of letters"),
    ],
)
def test_a_malformed_file_is_reported_with_its_line(tiny, name, line, text, complaint):
    lines = (tiny / name).read_text(encoding="utf-8").splitlines()
    lines[line - 1] = text
    (tiny / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=rf"{re.escape(name)}, line {line}: .*{complaint}"):
        Grammar.load(tiny)


def test_a_file_that_is_not_utf8_is_reported_with_its_line(tiny):
    (tiny / "nouns.tsv").write_bytes("english\tgender=\tspanish\nboy\tm\tniño\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"nouns\.tsv, line 2: expected UTF-8"):
        Grammar.load(tiny)


def test_a_byte_order_mark_is_no_part_of_a_file(tiny):
    expected = Grammar.load(tiny).generate(3, seed=0)
    for path in tiny.iterdir():
        path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
    assert Grammar.load(tiny).generate(3, seed=0) == expected


def test_a_grammar_without_sentences_and_a_missing_folder_are_refused(tiny):
    shutil.rmtree(tiny, ignore_errors=False)
    with pytest.raises(FileNotFoundError):
        Grammar.load(tiny)
    tiny.mkdir()
    (tiny / "grammar.txt").write_text("1 Noun -> pan = bread~pan\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"grammar\.txt, line 1: there is no rule for Sentence"):
        Grammar.load(tiny)
