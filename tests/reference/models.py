"""Classifiers that fit in a moment, from options of the search, of the head and of the classifier alike."""

from typing import Any

from gdlnn import GDLNNClassifier, Mined, MLPHead

QUICK = {"epsilon": 0.1, "epochs": 3, "verbose": False}


def classifier(**options: Any) -> GDLNNClassifier:
    """Return a classifier, each option passed to where it belongs."""
    head = options.pop("head", "mlp")
    search = {name: options.pop(name) for name in Mined().get_params() if name in options}
    own = {name for name in MLPHead().get_params() if name not in ("random_state", "class_weight")}
    of_head = {name: options.pop(name) for name in own if name in options}
    if head == "mlp":
        head = MLPHead(**of_head)
    return GDLNNClassifier(Mined(**search), head, **options)


def quick(**options: Any) -> GDLNNClassifier:
    """Return a classifier with one ε and a head of few epochs."""
    return classifier(**{**QUICK, **options})
