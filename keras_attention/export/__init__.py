"""Export a trained translator for programs without this package.

- `saved-model`: a TensorFlow SavedModel, strings in and strings out, for `tf.saved_model.load` or
  TensorFlow Serving. It contains everything: normalisation, pieces of words, the search, and the
  attention weights. To load it, import `tensorflow`, and `tensorflow_text` for its operations.
- `onnx`: the graphs `encode.onnx` and `step.onnx`, ids to numbers, for ONNX Runtime and other
  runtimes. The program that runs them looks up the words and chooses the tokens; the module
  `keras_attention.export.onnx_graphs` shows how.
- `ctranslate2`: a Transformer for `ctranslate2.Translator`, tokens in and tokens out, with beam
  search and eight-bit weights; the module `keras_attention.export.ctranslate2_model` shows how.

On the command line, run `keras-attention export RUN --format saved-model --out casa`. Then, in
another program:

    import tensorflow as tf
    import tensorflow_text

    translate = tf.saved_model.load("casa").signatures["serving_default"]
    translate(tf.constant(["¿Todavía están en casa?"]))["text"]
"""

from keras_attention.export.formats import FORMATS, Format, check_export, export

__all__ = ["FORMATS", "Format", "check_export", "export"]
