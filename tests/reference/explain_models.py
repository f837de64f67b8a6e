"""Small fitted models for the tests of explanations, made once per process."""

from functools import lru_cache
from typing import Any

from gdlnn import GraphDataset, ProgramSet, make_ba_2motifs
from gdlnn.model import GDLNNClassifier
from repro.pl4xgl import PL4XGLClassifier


@lru_cache(maxsize=1)
def motif_data() -> tuple[GraphDataset, GraphDataset]:
    """Return 60 graphs to train on and 20 to explain, all renumbered at random by their maker."""
    data = make_ba_2motifs(80, random_state=3)
    return data[:60], data[60:]


@lru_cache(maxsize=1)
def motif_programs() -> ProgramSet:
    """Return the programs of the training graphs."""
    from gdlnn import mine

    return mine(motif_data()[0], 0.1, verbose=False)


@lru_cache(maxsize=8)
def motif_model(head: str = "mlp", pooled: bool = False, activation: Any = "exists") -> GDLNNClassifier:
    """Return a model of one kind; the programs are the same for all."""
    model = GDLNNClassifier.paper(
        k=30,
        epochs=60,
        hidden=(64,) if head == "mlp" else (),
        pooled=pooled,
        activation=activation,
        verbose=False,
    )
    return model.fit(motif_data()[0], programs=motif_programs())


@lru_cache(maxsize=1)
def motif_pl4xgl() -> PL4XGLClassifier:
    """Return the classifier whose programs decide alone."""
    train, test = motif_data()
    return PL4XGLClassifier(strategy="greedy", verbose=False).fit(
        train, validation=test[:10], programs=motif_programs()
    )
