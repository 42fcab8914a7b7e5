"""Files that appear whole or not at all, and files from the web, fetched once and checked."""

from keras_attention.storage.downloads import download
from keras_attention.storage.files import remove, written_whole

__all__ = ["download", "remove", "written_whole"]
