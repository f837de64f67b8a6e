"""What a notebook shows of a classifier: its strongest programs where it is fitted, and its parameters."""

from __future__ import annotations

import importlib
from typing import Any


class DisplayMixin:
    """Puts the programs of a fitted classifier above scikit-learn's table of parameters.

    It stands before `BaseEstimator` among the bases. Which of the three methods is asked depends on the
    version of scikit-learn and on the notebook; `sklearn.set_config(display="text")` is heeded by all.
    """

    def _html_repr(self) -> str:
        from sklearn.utils import estimator_html_repr

        parameters = str(estimator_html_repr(self))
        if not hasattr(self, "programs_"):
            return parameters
        # Models know nothing of pictures: notebooks alone come through this door, opened by name.
        drawing = importlib.import_module("gdlnn.explain.drawing.notebook")
        return str(drawing.model_html(self)) + parameters

    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str]:
        from sklearn import get_config

        shown = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            shown["text/html"] = self._html_repr()
        return shown
