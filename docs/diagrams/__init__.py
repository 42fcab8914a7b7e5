"""The diagrams of the course: how attention, its layers and its models work, drawn by code.

Each function of the modules here draws one diagram; its docstring is the caption. `python -m
docs.diagrams` writes them all as SVG files into `keras_attention/plotting/diagrams/`.
"""

from docs.diagrams import attention, faults, maps, memories, sequences, transformer, vision

MODULES = (sequences, attention, transformer, memories, maps, faults, vision)


def drawn() -> dict[str, str]:
    """Draw every diagram; return SVG by name."""
    functions = [function for module in MODULES for function in module.DIAGRAMS]
    return {
        function.__name__.replace("_", "-"): function().svg(function.__doc__.strip())
        for function in functions
    }
