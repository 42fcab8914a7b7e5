"""Sentences such as users write, and such as nobody expects."""

import random
import unicodedata

ODD = [
    "",
    "   ",
    "\t\n",
    "¿Todavía está en casa?",
    "I don't know, Tom!",
    "Ｆｕｌｌ ｗｉｄｔｈ",
    "ﬁn ½ ² Å ℃ …",
    "naïve café, El Niño",
    "straße ŁÓDŹ ĐĐ",
    "😀 hola 👩‍👩‍👧 mundo",
    "中文 и русский",
    "a\u00a0b\u2003c\u200bd",
    "İstanbul Kelvin ſhort",
    "¨ ´ `a",
    "\u0301a\u0301\u0327 n\u0303",
    "\x00\x07bell",
    "'quoted' (word) [START] [UNK]",
    "..!!,,??¿¿",
    "¡Hola! «sí» — no",
    "x" * 97,
]


# Raised letters of Unicode 14, which TensorFlow Text before 2.20 does not know
NEW_LETTERS = {*range(0xA7F2, 0xA7F5), *range(0x10780, 0x107BB)}


def odd_sentences(count, seed):
    """Draw sentences of letters, marks, accents, blanks and nearly any character of Unicode."""
    rng = random.Random(seed)
    anything = [
        chr(c)
        for c in range(1, 0x30000)
        if unicodedata.category(chr(c)) not in ("Cs", "Cn") and c not in NEW_LETTERS
    ]
    usual = list("aeiouñÑÁéüzXY  .,?!¿'-\u0301\u0308\u0327\t")
    return [
        "".join(
            rng.choice(usual if rng.random() < 0.6 else anything) for _ in range(rng.randrange(41))
        )
        for _ in range(count)
    ]
