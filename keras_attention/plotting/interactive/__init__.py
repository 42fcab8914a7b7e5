"""An interactive view of attention: arrays and tokens to one HTML page that needs no network.

Knows no model. What stands in a sentence reaches the page as data and is shown as text, never as
markup, and the page's own policy forbids it to load anything.
"""

from keras_attention.plotting.interactive.view import Panel, Side, View, check_view_path

__all__ = ["Panel", "Side", "View", "check_view_path"]
