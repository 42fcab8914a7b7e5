"""What the site has beside the pages of this folder, for `mkdocs`, which reads this as its hook.

A page for every public layer and model builder, from their docstrings; one for every room that a
user imports from; the diagrams; the figures, which are a part of the README; and pages and pictures
from elsewhere in the repository, at the places where they are there, so that links hold in both. A
text of this folder links to files of the code, `../keras_attention/ops/masks.py#causal_mask`, which
are there for who reads it in the repository; here such a link leads to the page made of the file.
"""

import ast
import json
import re
from functools import cache
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent
PACKAGE = "keras_attention"
DIAGRAMS = f"{PACKAGE}/plotting/diagrams"
ROOMS = (
    "models",
    "ops",
    "ops.addressing",
    "ops.coverage",
    "text",
    "corpora",
    "training",
    "decoding",
    "metrics",
    "plotting",
    "plotting.interactive",
    "graphs",
    "translation.result",
    "translation.translator",
    "translation.evaluation",
    "translation.folders",
    "translation.web",
    "attributions",
    "export",
    "runs.settings",
    "runs.run",
    "runs.comparison",
    "runs.callbacks",
    "distribution.strategies",
    "distribution.processes",
    "distribution.replicas",
    "distribution.supervision",
    "compiling.programs",
    "compiling.tpu",
    "compiling.scaling",
    "compiling.topologies",
    "compiling.hlo",
    "compiling.matrices",
    "storage",
    "lab",
    "lab.tasks",
    "lab.writer",
)
# Builders have pages of their own; elsewhere `build` is the method of a layer.
FILTERS = {"models": ["!^_", "!^build_"], "runs.run": ["!^_"]}
MIRRORED = (
    "examples/images/*.gif",
    "examples/images/*.png",
    "examples/lab/**/*.png",
    "examples/lab/**/*.json",
    "examples/lab/**/*.txt",
    "examples/lab/results.md",
    "examples/mechanisms/results.*",
    "examples/mechanisms/pictures/*.png",
    "examples/benchmarks/results/**/*.*",
    "examples/scale_out/*",
    f"{DIAGRAMS}/*.svg",
    "data/README.md",
    "data/alignments/README.md",
    "data/digits/README.md",
    "data/translators/README.md",
    "CONTRIBUTING.md",
)
# Pictures that the package drew of a layer or model at work, and what one sees.
PICTURES = {
    "AdditiveAttention": (
        "examples/images/casa.png",
        "The RNN with attention translates: a row is a word of the translation.",
    ),
    "MultiHeadAttention": (
        "examples/images/heads.png",
        "Four heads of a layer: some attend to the translated word, some to its neighbours.",
    ),
    "NTMCell": (
        "examples/lab/copy/tapes.png",
        "The write head goes down the memory row by row; the read head waits, and then follows.",
    ),
    "MemoryHop": (
        "examples/lab/babi-task-2-data-en-10k/hops.png",
        "Three hops over a story: each finds the sentence that the one before it asked for.",
    ),
    "GlimpseRNN": (
        "examples/lab/two-digits/where-it-looked.png",
        "The eye goes to the left digit, then to the right one.",
    ),
    "OverFrames": (
        "examples/lab/captions/captions-attention.png",
        "A captioner attends to the frames of an event while it names it.",
    ),
    "Hopfield": (
        "examples/lab/hopfield/digits.png",
        "Halves of stored digits, and what comes back, here and from the network of 1982.",
    ),
    "build_transformer": ("examples/images/heads.png", "What the heads of one layer attend to."),
    "build_rnn_attention": ("examples/images/casa.png", "Its attention, word by word."),
    "build_bilstm_attention": ("examples/images/bilstm.png", "Its attention, word by word."),
    "build_seq2seq": (
        "examples/images/seq2seq.png",
        "Without attention all that is known of a sentence is the state after its last token.",
    ),
}
# The diagrams of a layer or model.
DIAGRAMS_OF = {
    "scores": ["additive-score"],
    "AdditiveAttention": ["four-steps", "softmax-axis"],
    "AttentionRNN": ["a-memory"],
    "CausalSelfAttention": ["masks"],
    "ContextSensitiveMemory": ["soft-dictionary"],
    "CoverageAttention": ["past-alignments"],
    "CrossAttention": ["three-attentions"],
    "GlimpseNetwork": ["glimpse"],
    "GlimpseRNN": ["recurrent-glimpses"],
    "GlobalSelfAttention": ["three-attentions"],
    "HardAttention": ["soft-and-hard"],
    "Hopfield": ["hopfield"],
    "MemoryHop": ["hops"],
    "MonotonicLocalAttention": ["global-and-local"],
    "MultiHeadAttention": ["heads"],
    "NTMCell": ["turing-machine", "addressing", "writing"],
    "NeuralCoverageAttention": ["past-alignments"],
    "OverFrames": ["captioner"],
    "Pooling": ["no-attention-pooling"],
    "PositionalEmbedding": ["positions"],
    "PredictiveLocalAttention": ["global-and-local"],
    "SinusoidalPositions": ["positions"],
    "TransformerDecoderLayer": ["decoder-layer", "cache"],
    "TransformerEncoderLayer": ["encoder-layer"],
    "build_bilstm_attention": ["a-memory"],
    "build_captioner": ["captioner"],
    "build_deep_recurrent_attention": ["recurrent-glimpses", "glimpse"],
    "build_memory_network": ["hops"],
    "build_neural_turing_machine": ["turing-machine", "addressing", "writing"],
    "build_recurrent_attention": ["recurrent-glimpses", "glimpse"],
    "build_rnn_attention": ["a-memory"],
    "build_seq2seq": ["one-vector"],
    "build_transformer": ["transformer", "teacher-forcing"],
}
CAPTIONS = ROOT / "examples/mechanisms/pictures/captions.json"  # of the other layers at work
PICTURES |= {
    name: (f"examples/mechanisms/pictures/{name}.png", caption)
    for name, caption in json.loads(CAPTIONS.read_text(encoding="utf-8")).items()
    if name not in PICTURES
}
PICTURES |= {  # those that are a part of another
    "AttendThenRecur": PICTURES["AttentionRNN"],
    "BagOfWords": PICTURES["MemoryHop"],
    "GlimpseNetwork": PICTURES["GlimpseRNN"],
    "Glimpses": PICTURES["GlimpseRNN"],
    "MemoryTimes": PICTURES["MemoryHop"],
    "build_neural_turing_machine": PICTURES["NTMCell"],
    "build_memory_network": PICTURES["MemoryHop"],
    "build_deep_recurrent_attention": PICTURES["GlimpseRNN"],
    "build_captioner": PICTURES["OverFrames"],
}


def on_files(files, config):
    """Add the pages that are written here, and what is mirrored."""
    for pattern in MIRRORED:
        for path in sorted(ROOT.glob(pattern)):
            place = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, place, abs_src_path=str(path)))
    pages = {
        f"{room}/{name}.md": page(room, name)
        for room in ("layers", "models")
        for name in described(room)
    }
    pages |= {f"reference/{room}.md": reference(room) for room in ROOMS}
    pages["figures.md"] = figures()
    pages["diagrams.md"] = diagrams()
    for place, text in pages.items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown, page, **_):
    """Let links of the pages of docs/ and of the README lead to where things are on the site."""
    if "/" in page.file.src_uri:  # pages of data/ and examples/, which are as deep in both
        return markdown.replace("](../../docs/", "](../../")
    pages = pages_of_files()
    markdown = re.sub(
        rf"(?<!!)(\[[^\]]*\])\(\.\./({PACKAGE}/[^)]+)\)",
        lambda link: f"{link[1]}({pages.get(link[2], f'../{link[2]}')})",
        markdown,
    )
    markdown = re.sub(r"\]\(\.\./README\.md(#[\w-]+)?\)", "](figures.md)", markdown)
    return markdown.replace("](../", "](").replace("](docs/", "](")


@cache
def pages_of_files():
    """Return the pages of the site by the files, with a name in them, that the texts link to."""
    pages = {}
    for room in ("layers", "models"):
        for name in described(room):
            path = home(room, name)
            place = path.relative_to(ROOT).as_posix() + ("" if path.stem == name else f"#{name}")
            pages[place] = f"{room}/{name}.md"
    for room in ROOMS:
        path = ROOT.joinpath(PACKAGE, *room.split("."))
        place = path if path.is_dir() else path.with_suffix(".py")
        pages[place.relative_to(ROOT).as_posix()] = f"reference/{room}.md"
    for path in (ROOT / DIAGRAMS).glob("*.svg"):
        pages[f"{DIAGRAMS}/{path.name}"] = f"diagrams.md#{path.stem}"
    return pages


def on_page_content(html, **_):
    """Put diagrams into the page itself, so that they turn dark with it."""

    def whole(match):
        return (ROOT / DIAGRAMS / match[1]).read_text(encoding="utf-8")

    return re.sub(rf'<img [^>]*src="[^"]*{DIAGRAMS}/([\w-]+\.svg)"[^>]*>', whole, html)


def diagrams():
    """Return the page of all diagrams, each below its caption."""
    parts = [
        "# Diagrams",
        "In a notebook `plotting.diagram(name)` shows one. They are SVG files, drawn by the code "
        "in `docs/diagrams/`.",
    ]
    for path in sorted((ROOT / DIAGRAMS).glob("*.svg")):
        parts += [f"## {path.stem.replace('-', ' ').capitalize()}", *shown(path.stem, DIAGRAMS)]
    return "\n\n".join(parts) + "\n"


def shown(name, folder):
    """Return a diagram above its caption, as Markdown; the folder is as the page sees it."""
    svg = (ROOT / DIAGRAMS / f"{name}.svg").read_text(encoding="utf-8")
    caption = re.search(r"<title>(.*?)</title>", svg)[1]
    return [f"![{caption}]({folder}/{name}.svg)", f"*{caption}*"]


def public(room):
    """Return the public names of a room: its `__all__`."""
    tree = ast.parse((ROOT / PACKAGE / room / "__init__.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            return ast.literal_eval(node.value)
    raise ValueError(f"{room} has no __all__")


def described(room):
    """Return the names of a room that have a page each: all layers, and the builders of models."""
    return [name for name in public(room) if room == "layers" or name.startswith("build_")]


def home(room, name):
    """Return the path of the file of a room that defines a public name."""
    tree = ast.parse((ROOT / PACKAGE / room / "__init__.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and name in [each.name for each in node.names]:
            path = ROOT.joinpath(*node.module.split("."))
            return path / f"{name}.py" if path.is_dir() else path.with_suffix(".py")
    raise ValueError(f"{room} does not import {name}")


def page(room, name):
    """Return the page of a layer, of a model or of the scores: equation, picture, docstring."""
    path = home(room, name)
    module = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    sentence, _, equations = module.partition("\n\n")
    parts = [f"# {name}", sentence]
    if equations and is_formula(equations):
        parts.append(f"```text\n{equations}\n```")
    elif equations:
        parts.append(equations)
    for each in DIAGRAMS_OF.get(name, ()):
        parts += shown(each, f"../{DIAGRAMS}")
    if name in PICTURES:
        picture, says = PICTURES[name]
        parts += [f"![{says}](../{picture})", f"*{says}*"]
    dotted = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    whole_module = path.stem == name
    # The page has the name as its title; below it the docstring goes by another.
    options = "    options:\n      heading: Reference\n      toc_label: Reference"
    parts.append(f"::: {dotted if whole_module else f'{dotted}.{name}'}\n{options}")
    return "\n\n".join(parts) + "\n"


def reference(room):
    """Return the page of a room: its docstring, and all that is public in it."""
    parts = [
        f"# {room}\n",
        f"::: {PACKAGE}.{room}",
        "    options:",
        "      show_root_heading: false",
    ]
    if room in FILTERS:
        parts.append(f"      filters: {FILTERS[room]}")
    return "\n".join(parts) + "\n"


def is_formula(text):
    """Tell whether the text below the first sentence of a module is its equations, or a sketch."""
    return not text.rstrip().endswith(".") and any(sign in text.splitlines()[0] for sign in "=→←")


def figures():
    """Return the part of the README that holds what was measured."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"^## Figures\n(.*?)^## ", text, re.DOTALL | re.MULTILINE)
    return f"# Figures\n{found.group(1)}"
