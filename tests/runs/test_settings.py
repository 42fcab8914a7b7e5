"""The table of settings, from which the command line makes its options."""

import inspect
from dataclasses import fields, replace

import pytest

from keras_attention import cli, models
from keras_attention.runs.settings import OF_TRANSFORMER, TRANSFORMER, TUTORIAL, Settings


def test_every_setting_has_a_help_text_and_a_default_to_show():
    for each in fields(Settings):
        assert each.metadata["help"].endswith(".")
        assert each.metadata["shown"] or each.name in {**TUTORIAL, **TRANSFORMER}, each.name


def test_the_defaults_that_are_shown_are_those_of_the_builder():
    takes = inspect.signature(models.build_transformer).parameters
    shown = {
        each.name: each.metadata["shown"]
        for each in fields(Settings)
        if each.metadata["panel"] == OF_TRANSFORMER and each.name not in TRANSFORMER
    }
    assert shown.pop("key_dim").startswith("units / heads")
    assert shown.pop("num_decoder_layers") == "as in the encoder"
    assert shown == {"positions": takes["positions"].default}


def test_what_is_none_takes_the_default_of_the_model():
    assert {name: getattr(Settings(), name) for name in TUTORIAL} == TUTORIAL
    assert {name: getattr(Settings("transformer"), name) for name in TRANSFORMER} == TRANSFORMER
    assert replace(Settings("transformer"), units=8).vocabulary == TRANSFORMER["vocabulary"]


def test_a_batch_has_a_number_of_sentences_or_of_tokens():
    assert Settings().size == {"batch_size": 64}
    assert Settings("transformer").size == {"batch_tokens": 3072}
    assert Settings(batch_tokens=99).size == {"batch_tokens": 99}
    assert Settings("transformer", batch_size=9).size == {"batch_size": 9}
    with pytest.raises(ValueError, match="choose batch_size or batch_tokens, got 9 and 99"):
        Settings(batch_size=9, batch_tokens=99)


@pytest.mark.parametrize("command", ["train", "compare"])
def test_the_command_line_has_an_option_for_each_setting(command, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["keras-attention", command, "--help"])
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    monkeypatch.setenv("COLUMNS", "250")
    cli.main()
    out = capsys.readouterr().out
    names = [each.name for each in fields(Settings)]
    names = names if command == "train" else ["units", "epochs", "learning_rate", "seed"]
    missing = [name for name in names if f"--{name.replace('_', '-')}" not in out]
    assert missing == []
    other = "transformer: 192" if command == "train" else "bundled: 64"
    assert f"256, {other}" in " ".join(out.split())


def test_a_setting_that_was_not_given_is_not_chosen():
    found = {}
    command = cli.options.with_settings("units", "seed")(lambda *, settings: found.update(settings))
    command(units=5, seed=None)
    assert found == {"units": 5}
