"""The configuration in a folder: what it must hold, its own hash, and the hashes of the files."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keras_attention.storage import check_fields, naming, read_json

FORMAT = 3
CONFIG_FILE = "config.json"


@dataclass(frozen=True)
class BuilderFields:
    """What builds a model: a name in `models.BUILDERS`, and the arguments of the function."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class TranslatorFields:
    """What the configuration of a translator must hold, and the types of what it may hold.

    Attributes:
        tokens: the kind of both vocabularies.
        files: the SHA-256 of each file of the folder, by its name.
        builder: what builds the model, if the folder holds its weights alone.
        languages: the names of the source's and the target's language.
        alignment_head: the head that shows best where words come from.
    """

    tokens: str
    files: dict[str, str]
    builder: BuilderFields | None = None
    languages: tuple[str, str] | None = None
    alignment_head: dict[str, bool | int | float] | None = None


def signed_text(config: Mapping[str, Any]) -> str:
    """Return a configuration as it is written, with the hash of all the rest."""
    config = {name: value for name, value in config.items() if name != "sha256"}
    config["sha256"] = hashlib.sha256(json.dumps(config).encode()).hexdigest()
    return json.dumps(config, indent=2, ensure_ascii=False) + "\n"


def config_text(config: Mapping[str, Any], kind: type) -> str:
    """Return the signed text of a configuration with the format, after checking its fields.

    Args:
        config: what JSON can hold.
        kind: a dataclass with its fields, as for `read_config`.

    Raises:
        TypeError: it holds what JSON cannot.
        ValueError: a field is missing or has another type.
    """
    text = signed_text({"format": FORMAT} | dict(config) | {"format": FORMAT})
    check_fields(json.loads(text), kind, "config", others=True)
    return text


def read_config(folder: Path | str, kind: type) -> dict[str, Any]:
    """Read the configuration in a folder.

    Args:
        folder: the folder.
        kind: a dataclass with its fields. Other fields are allowed: they are the caller's own.

    Raises:
        ValueError: it is damaged, has another version of the format, or lacks a field.
    """
    path = Path(folder) / CONFIG_FILE
    config = read_json(path)
    with naming(path):
        check_fields(config, _Versioned, others=True)
    if config["format"] != FORMAT:
        raise ValueError(
            f"{path} has format {config['format']}, this version of keras_attention reads "
            f"{FORMAT}; it was written by keras_attention {config.get('keras_attention', '?')}"
        )
    if path.read_text(encoding="utf-8") != signed_text(config):
        raise ValueError(f"{path} is not the file that was written: its sha256 does not fit")
    with naming(path):
        check_fields(config, kind, others=True)
    return config


@dataclass(frozen=True)
class _Versioned:
    """What any version of the format holds."""

    format: int
    keras_attention: str = ""
