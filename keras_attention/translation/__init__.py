"""From a sentence to its translation.

- `result`: `Translation`, the text with its tokens and attention weights, and its pictures.
- `translator`: `Translator`, which translates, saves and loads.
- `evaluation`: how good a translator is: loss, BLEU, alignment error rate.
- `web`: a local page to type sentences on; Gradio is its extra, `demo`.

Import the module that you need: `web` stays quick to load, since it needs no Keras.
"""
