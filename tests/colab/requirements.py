"""What the package needs, beside what Colab's images have."""

from configparser import ConfigParser
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.colab.__main__ import listed

# Colab's image for TPUs has JAX alone; the package needs these for strings and for export.
TENSORFLOW = {"tensorflow", "tensorflow-text", "keras-nlp"}


def needed():
    """Yield the requirements of the package: the extra, or an empty string, and the requirement."""
    config = ConfigParser()
    config.read(Path(__file__).parents[2] / "setup.cfg", encoding="utf-8")
    sections = {"": config["options"]["install_requires"], **config["options.extras_require"]}
    for extra, text in sections.items():
        for line in text.split("\n"):
            if line and not line.startswith("#"):
                yield extra, Requirement(line)


def versions(image):
    """Return the versions of an image, by name."""
    return {canonicalize_name(name): version for name, version in listed(image).items()}


def missing(image):
    """Return the names of what the package needs, and an image lacks, with what these need."""
    there = {*versions(image), *(TENSORFLOW if image == "tpu" else ())}
    lacks = set()
    left = [requirement for extra, requirement in needed() if not extra]
    while left:
        name = canonicalize_name(left.pop().name)
        if name not in {*there, *lacks}:
            lacks.add(name)
            wanted = map(Requirement, metadata.requires(name) or ())
            left += [
                each for each in wanted if not each.marker or each.marker.evaluate({"extra": ""})
            ]
    return lacks
