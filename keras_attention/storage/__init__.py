"""Write files whole or not at all; download files once and check them."""

from keras_attention.storage.downloads import download
from keras_attention.storage.files import remove, written_whole

__all__ = ["download", "remove", "written_whole"]
