"""The Transformer of this package in CTranslate2: as `keras-attention export` writes it."""

from pathlib import Path

from keras_attention.cores import count_of_cores

SPECIAL_IDS = (0, 2, 3)  # padding, [START] and [END], which CTranslate2 adds itself


class Converter:
    """Loads a Transformer of this package, and writes it as CTranslate2 reads it."""

    def convert(self, run, folder):
        """Convert the run in a folder into another folder.

        Raises:
            ValueError: the model is no Transformer that CTranslate2 has.
        """
        from keras_attention.export.ctranslate2_model import write_ctranslate2
        from keras_attention.translation.translator import Translator

        write_ctranslate2(Translator.load(run), folder)


class CTranslate2:
    """Decodes with a converted model; on a GPU where CTranslate2 has one.

    On a CPU each core has batches, or a sentence, of its own: on two cores this is several times as
    fast as both on one batch.

    Args:
        folder: what `Converter` wrote.
        compute_type: `"float32"`, `"float16"` or `"int8"`.
        sentences: ids (N, S).
    """

    def __init__(self, folder, compute_type, sentences):
        import ctranslate2

        on_gpu = ctranslate2.get_cuda_device_count() > 0
        self.translator = ctranslate2.Translator(
            str(folder),
            device="cuda" if on_gpu else "cpu",
            compute_type=compute_type,
            inter_threads=1 if on_gpu else count_of_cores(),
            intra_threads=1,
        )
        source, target = (
            (Path(folder) / f"{side}_vocabulary.txt").read_text("utf-8").split("\n")[:-1]
            for side in ("context", "target")
        )
        self.ids = {word: number for number, word in enumerate(target)}
        self.sentences = [
            [source[number] for number in row if number not in SPECIAL_IDS] for row in sentences
        ]

    def device(self):
        """Return the name of the device that it computes on."""
        return self.translator.device

    def decode(self, rows, batch_size, beam, max_length):
        """Translate some sentences, in batches of so many: ids of each, without the end.

        Args:
            rows: how many of the sentences; the first ones.
            batch_size: sentences a batch; 1: each by a call of its own; None: CTranslate2 chooses
                what goes together, at most 64 at a time; `"tokens"`: it fills batches with 1,024
                tokens.
            beam: 1 is greedy.
            max_length: most tokens of a translation, the end included.
        """
        options = {
            "beam_size": beam,
            "max_decoding_length": max_length,
            "length_penalty": 0,
        }
        sentences = self.sentences[:rows]
        if batch_size == 1:
            results = [self.translator.translate_batch([each], **options)[0] for each in sentences]
        else:
            options |= {"max_batch_size": batch_size or 64}
            if batch_size == "tokens":
                options |= {"max_batch_size": 1024, "batch_type": "tokens"}
            results = self.translator.translate_batch(sentences, **options)
        return [[self.ids[word] for word in each.hypotheses[0]] for each in results]
