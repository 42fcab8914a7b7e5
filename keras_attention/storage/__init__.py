"""Write files whole or not at all, read them with care, and find those that come with the package.

Files are downloaded once; hashes bind the files of a folder together; what was read from JSON is
checked against types; and what does not fit into memory is refused before it is read.
"""

from keras_attention.storage.downloads import download
from keras_attention.storage.files import encodable, remove, written_whole
from keras_attention.storage.hashes import check_files, check_present, sha256_of
from keras_attention.storage.locks import locked
from keras_attention.storage.memory import check_archive, check_memory, machine_memory
from keras_attention.storage.package_data import bundled
from keras_attention.storage.schemas import check_fields, check_hints, check_type, naming, read_json

__all__ = [
    "bundled",
    "check_archive",
    "check_fields",
    "check_files",
    "check_hints",
    "check_memory",
    "check_present",
    "check_type",
    "download",
    "encodable",
    "locked",
    "machine_memory",
    "naming",
    "read_json",
    "remove",
    "sha256_of",
    "written_whole",
]
