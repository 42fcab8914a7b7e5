"""A local page: type a sentence, choose a search, see the translation and its attention.

`answer` computes the contents of the page without Gradio; `build_page` lays it out and `serve`
keeps it open. Gradio is the extra `demo` and is imported when a page is built. Sentences are
escaped, and the page loads nothing from elsewhere.
"""

import errno
import html
import importlib.util
import os
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from keras_attention.installing import pip_install
from keras_attention.storage import encodable
from keras_attention.translation.guard import Guard

if TYPE_CHECKING:  # neither is needed to read the options of the command line
    import gradio

    from keras_attention.translation.translator import Translator

HOST, PORT, LAST_PORT = "127.0.0.1", 7860, 65535
BEAMS = (1, 2, 4, 8)
MOST_WAITING = 64  # requests that wait for the translator
MOST_REMEMBERED = 64  # visitors whose last answer Gradio keeps, of some 100 kB each
TEMPERATURES = (0.0, 0.5, 1.0, 1.5)  # only a few, since each has its own programs
EXAMPLES = (
    "¿Comieron los niños la manzana roja?",
    "Los perros grandes no comieron el pan.",
    "Ayer vimos a la profesora.",
    "¿Dónde están las llaves?",
    "Me gusta el libro nuevo.",
)
_EXCLUDED = "A beam searches, a temperature draws: choose a beam of 1 or a temperature of 0."
_STYLE = """
h1 { margin: 0; }
#examples { gap: 8px; }
#examples button { flex: 0 1 auto; min-width: 0 !important; width: auto; }
/* Without this the chosen circle vanishes when it loses the focus */
label.selected input[type="radio"] {
  background-color: var(--checkbox-background-color-selected) !important;
  border-color: var(--checkbox-border-color-selected) !important;
}
#result p { margin: 0; overflow-wrap: anywhere; }
#result .translation { font-size: 1.6rem; line-height: 1.35; }
#result .message, #result th { color: var(--body-text-color-subdued); }
#result table { margin-top: 10px; border-collapse: collapse; }
#result th { text-align: left; font-weight: normal; }
#result :is(table, thead, tr, td, th) { border: 0 !important; }
#result td, #result th { padding: 1px 18px 1px 0 !important; overflow-wrap: anywhere; }
"""


class Answer(NamedTuple):
    """The contents of the page for a sentence; each part may be empty.

    Attributes:
        text: the translation.
        candidates: pairs (text, score) of the hypotheses of beam search, best first.
        view: HTML, a frame with the attention.
        message: remarks for the reader, in sentences.
    """

    text: str = ""
    candidates: tuple[tuple[str, float], ...] = ()
    view: str = ""
    message: str = ""

    @property
    def html(self) -> str:
        """Everything but the view, as HTML; sentences are escaped."""
        parts = []
        if self.text:
            parts.append(f'<p class="translation" dir="auto">{html.escape(self.text)}</p>')
        if self.message:
            parts.append(f'<p class="message" role="status">{html.escape(self.message)}</p>')
        if self.candidates:
            rows = "".join(
                f'<tr><td>{score:.3f}</td><td dir="auto">{html.escape(text)}</td></tr>'
                for text, score in self.candidates
            )
            head = '<tr><th scope="col">score</th><th scope="col">found by beam search</th></tr>'
            parts.append(f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>")
        return encodable("".join(parts))


def answer(
    translator: "Translator",
    sentence: str,
    beam: int = 1,
    temperature: float = 0.0,
    seed: int = 0,
) -> Answer:
    """Translate a sentence for the page, or explain in a message why this is impossible.

    Args:
        translator: a `Translator`.
        sentence: a string, as the reader typed it.
        beam: number of hypotheses; 1 is greedy. Above 1, all of them are listed.
        temperature: 0 takes the likeliest word; above 0, words are drawn at random.
        seed: random seed.

    Returns:
        An `Answer`.
    """
    if not sentence.strip():
        return Answer(message="Type a sentence.")
    if beam > 1 and temperature > 0:
        return Answer(message=_EXCLUDED)
    options: dict[str, Any] = {
        "beam": beam,
        "n_best": beam,
        "temperature": temperature,
        "seed": seed,
    }
    try:
        translation = translator(sentence, **options)
    except ValueError as error:
        return Answer(message=sentence_of(str(error)))
    found = ((each.text, each.score) for each in translation.candidates)
    return Answer(
        text=translation.text,
        candidates=tuple(found) if beam > 1 else (),
        view=_frame(translation),
        message=_remarks(translation),
    )


def _frame(translation):
    """Return the attention as a frame a sentence, without the texts that are shown above it."""
    bare = {"candidates": ()} if translation.parts else {"source": "", "text": "", "candidates": ()}
    return "".join(
        replace(each, **bare).view()._repr_html_() for each in translation.sentences if each.weights
    )


def _remarks(translation):
    """Return remarks for the reader of a translation, in sentences."""
    remarks = []
    if not translation.text:
        remarks.append("The model writes nothing for this.")
    if translation.unknown_words:
        remarks.append(sentence_of(translation.remark_on_unknown))
    if translation.remark_on_end:
        remarks.append(sentence_of(translation.remark_on_end))
    if translation.parts:
        remarks.append(f"The text was translated in {len(translation.parts)} parts.")
    if not translation.sentences[0].weights:
        remarks.append("This model has no attention to show.")
    return " ".join(remarks)


def sentence_of(said: str) -> str:
    """Return a remark as a sentence, with a capital and a full stop."""
    return f"{said[:1].upper()}{said[1:]}."


def known_examples(translator: "Translator") -> list[str]:
    """Return the example sentences in which the translator knows every word."""
    from keras_attention.text import UNKNOWN

    vocabulary = translator.context_vocabulary
    return [
        sentence
        for sentence, tokens in zip(EXAMPLES, vocabulary.tokenize(EXAMPLES), strict=True)
        if all(vocabulary.id_of(token) != UNKNOWN for token, _ in tokens)
    ]


def warm_up(
    translator: "Translator", progress: Callable[[Iterable[Any]], Iterable[Any]] = iter
) -> None:
    """Compile the programs for greedy decoding of the examples, which suit most short sentences.

    Programs for other lengths, beams and temperatures are compiled on first use.

    Args:
        translator: a `Translator`.
        progress: wraps the sequence of lengths, for a progress bar.
    """
    sentences = known_examples(translator) or EXAMPLES
    lengths = {len(tokens) + 2 for tokens in translator.context_vocabulary.tokenize(sentences)}
    translator.warm_up(lengths, batch_size=1, progress=progress)  # 2: [START] and [END]


def check_installed() -> None:
    """Check that Gradio is installed.

    Raises:
        ImportError: it is not; the message says what to install.
    """
    if importlib.util.find_spec("gradio") is None:
        raise ImportError(f"the page needs Gradio: {pip_install('demo')}")


def check_address(host: str = HOST, port: int = PORT) -> None:
    """Check that an address is free, before any lengthy work.

    Args:
        host: a name or an IPv4 address of this computer.
        port: a number from 1 to 65535.

    Raises:
        OSError: the address is not free or not on this computer; the message says why.
    """
    try:
        socket.create_server((host, port)).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            other = port + 1 if port < LAST_PORT else port - 1
            reason = f"port {port} of {host} is in use: choose another, such as {other}"
        else:
            reason = f"cannot listen at port {port} of {host}: {error.strerror}"
        raise OSError(reason) from error


def build_page(translator: "Translator") -> "gradio.Blocks":
    """Build the page: the sentence and the search options, the translation, and the view.

    Args:
        translator: a `Translator`.

    Returns:
        A `gradio.Blocks`, for `serve` or for its own `launch`.

    Raises:
        ImportError: Gradio is not installed.
    """
    gradio = _gradio()

    def show(sentence, beam, temperature, seed):
        given = answer(translator, sentence or "", beam, temperature, int(seed or 0))
        return given.html, given.view

    def choose(beam, temperature):
        """Enable either the beam or the temperature, since they exclude each other."""
        return (
            gradio.Radio(interactive=temperature == 0),
            gradio.Radio(interactive=beam == 1),
            gradio.Number(visible=temperature > 0),
        )

    with gradio.Blocks(title="keras_attention", analytics_enabled=False) as blocks:
        gradio.HTML("<h1>Translate, and see what the model attends to</h1>")
        with gradio.Row(equal_height=True):
            sentence = gradio.Textbox(
                label="Sentence", autofocus=True, lines=1, max_lines=4, scale=6, elem_id="sentence"
            )
            button = gradio.Button("Translate", variant="primary", scale=1, elem_id="translate")
        with gradio.Row():
            beam = gradio.Radio(
                list(BEAMS),
                value=BEAMS[0],
                label="Beam",
                info="Number of hypotheses, all of them listed; 1 is greedy.",
                elem_id="beam",
            )
            temperature = gradio.Radio(
                list(TEMPERATURES),
                value=TEMPERATURES[0],
                label="Temperature",
                info="Above 0, words are drawn at random; needs a beam of 1.",
                elem_id="temperature",
            )
            seed = gradio.Number(
                value=0,
                label="Seed",
                info="Another seed draws other words.",
                precision=0,
                minimum=0,
                visible=False,
                elem_id="seed",
            )
        with gradio.Row(elem_id="examples"):
            examples = [
                gradio.Button(each, size="sm", min_width=200) for each in known_examples(translator)
            ]
        result = gradio.HTML(elem_id="result")
        view = gradio.HTML(elem_id="view")

        event = {
            "fn": show,
            "inputs": [sentence, beam, temperature, seed],
            "outputs": [result, view],
            "concurrency_id": "translator",
        }
        gradio.on([sentence.submit, button.click], **event)
        for each in examples:
            each.click(lambda text: text, each, sentence).then(**event)
        for each in (beam, temperature):
            each.input(choose, [beam, temperature], [beam, temperature, seed])
    return blocks.queue(max_size=MOST_WAITING)


def serve(
    translator: "Translator", host: str = HOST, port: int = PORT, open_browser: bool = True
) -> None:
    """Serve the page until Ctrl-C.

    `Guard` refuses files and requests that are too long or too slow. Of the requests that wait,
    Gradio's queue keeps 64 and refuses the rest.

    Args:
        translator: a `Translator`.
        host: the address to listen at; only this computer can reach 127.0.0.1.
        port: a number from 1 to 65535.
        open_browser: whether to open the page in a browser.

    Raises:
        ImportError: Gradio is not installed.
        OSError: the address is not free or not on this computer.
    """
    check_address(host, port)
    blocks = build_page(translator)
    from starlette.middleware import Middleware  # Gradio comes with it

    fonts = {"font": ("system-ui", "sans-serif"), "font_mono": ("ui-monospace", "monospace")}
    try:
        _, address, _ = blocks.launch(
            server_name=host,
            server_port=port,
            share=False,
            inbrowser=open_browser,
            quiet=True,
            prevent_thread_lock=True,
            show_error=True,
            footer_links=[],
            app_kwargs={"middleware": [Middleware(Guard)]},
            state_session_capacity=MOST_REMEMBERED,
            theme=_gradio().themes.Default(primary_hue="blue", **fonts),
            css=_STYLE,
        )
        print(f"Open {address} in a browser; stop the server with Ctrl-C.", flush=True)
        while True:
            time.sleep(0.5)
    except KeyboardInterrupt:
        pass
    finally:
        blocks.close(verbose=False)


def _gradio():
    """Import Gradio with its usage statistics turned off."""
    check_installed()
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    import gradio

    return gradio
