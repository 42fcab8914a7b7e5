"""The first cell of every notebook: it installs the package unless this version is there."""

# Installs this version of the package, unless it is there: from a file or folder here, or the web.
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from IPython.core.error import UsageError

name, version = "{name}", "{version}"
found = [each for each in metadata.distributions(name=name) if each.read_text("RECORD")]
if version not in [each.version for each in found]:
    files = [each for each in Path().glob("keras_attention*") if each.suffix in (".whl", ".zip")]
    folders = [each for each in (".", "..") if Path(each, "keras_attention_command.py").exists()]
    source = str([*files, *folders, "git+{repository}"][0])
    pip = [sys.executable, "-m", "pip", "install", source]
    if "google.colab" in sys.modules:  # it lacks only these; every version that it has stays
        pip += ["--no-deps", "colorama", "lxml", "portalocker", "sacrebleu", "tabulate"]
    if subprocess.run(pip, capture_output=True).returncode:
        wanted = f"Put a wheel or zip of {name} {version} into {Path.cwd()} and run this again"
        raise UsageError(f"{wanted}: pip could not install {source}.")
