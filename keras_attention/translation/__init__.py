"""From a sentence to its translation.

- `result`: `Translation`, the text with its tokens and attention weights, and its pictures.
- `alignment`: where each word comes from, by leave-one-out, `relevance`, and the `agreement` of two
  hidden Markov models; `inside` and `interventions` reach into a model for it.
- `folders`: the folder of a translator, and the translators that come with the package.
- `translator`: `Translator`, which translates, saves and loads.
- `evaluation`: the scores of a translator: loss, BLEU, alignment error rate.
- `web`: a local page that translates what you type; it needs Gradio, the extra `demo`.
"""

import lazy_loader

# The command line reads `web` for its help, without Keras.
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["evaluation", "folders", "result", "translator", "web"],
    submod_attrs={"result": ["Candidate", "Translation"], "translator": ["Translator"]},
)
