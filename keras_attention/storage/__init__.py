"""Write files whole or not at all; find those that come with the package; download others once."""

from keras_attention.storage.downloads import download
from keras_attention.storage.files import remove, written_whole
from keras_attention.storage.package_data import bundled

__all__ = ["bundled", "download", "remove", "written_whole"]
