"""Train the same run on several kinds of devices, in one process, for tests that compare them.

python -m tests.distribution.trains FOLDER TRAIN.tsv VALIDATION.tsv SETTINGS.json
"""

import json
import sys
from pathlib import Path

import keras


def make_two_virtual_devices():
    import tensorflow as tf

    (cpu, *_) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)


def main():
    if keras.backend.backend() == "tensorflow":
        make_two_virtual_devices()
        ways = {"one": {}, "several": {"devices": 2}}
    else:
        ways = {
            "one": {},
            "several": {"devices": "auto"},
            "vocabulary": {"devices": 8, "vocabulary_shards": 4},
        }
    from keras_attention import corpora, runs
    from keras_attention.distribution import spread

    folder, train, validation, settings = map(Path, sys.argv[1:])
    settings = runs.Settings(**json.loads(settings.read_text()))
    pairs = corpora.load(train), corpora.load(validation)
    for name, way in ways.items():
        runs.train(*pairs, folder / name, settings, verbose=0, distribution=spread(**way))


if __name__ == "__main__":
    main()
