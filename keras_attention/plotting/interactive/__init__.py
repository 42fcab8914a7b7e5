"""An interactive view of attention: from arrays and tokens to one HTML page that works offline.

The view needs no model. A sentence reaches the page as data and is shown as text, never as markup.
The page's content security policy forbids it to load anything.
"""

from keras_attention.plotting.interactive.view import Panel, Side, View, check_view_path

__all__ = ["Panel", "Side", "View", "check_view_path"]
