"""How the site reads docstrings, an extension of griffe: examples as code, arguments as lists."""

import re
import textwrap

import griffe

_EXAMPLE = re.compile(r"^Example:\n((?:.+\n?)+)", re.MULTILINE)
_RETURNS = re.compile(r"^Returns:\n((?:^ +.*\n?|^\n)+)", re.MULTILINE)
_CALL_ARGUMENTS = re.compile(r"^Call arguments:\n((?:^ +.*\n?|^\n)+)", re.MULTILINE)


class Readable(griffe.Extension):
    """Write sections of this package's docstrings in the way that griffe knows."""

    def on_object(self, *, obj, **_):
        """Change the docstring of a module, class or function, where it has one."""
        if obj.docstring:
            obj.docstring.value = readable(obj.docstring.value)


def readable(docstring):
    """Return a docstring with what griffe does not show well written as Markdown."""
    docstring = _EXAMPLE.sub(
        lambda found: f"**Example**\n\n```python\n{textwrap.dedent(found[1]).strip()}\n```\n",
        docstring,
    )
    # What is returned has no name, and griffe would leave a dash where that should stand.
    docstring = _RETURNS.sub(lambda found: f"**Returns**\n\n{textwrap.dedent(found[1])}", docstring)
    return _CALL_ARGUMENTS.sub(
        lambda found: f"**Call arguments**\n\n{_listed(found[1])}", docstring
    )


def _listed(arguments):
    """Return indented `name: text` items as a list."""
    dedented = re.sub(r"^ {4}", "", arguments, flags=re.MULTILINE)
    return re.sub(r"^(\w[\w, ]*): ", r"- `\1`: ", dedented, flags=re.MULTILINE)
