"""FingerprintForestClassifier: circular fingerprints and a random forest, the chemist's baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.baselines.base import FloatArray, GraphClassifier, IntArray
from gdlnn.errors import GraphError, ModelError, require
from gdlnn.graphs.molecules import graph_molecule

if TYPE_CHECKING:
    from gdlnn.graphs import Graph, GraphDataset, Schema


class FingerprintForestClassifier(GraphClassifier):
    """A random forest on ECFP fingerprints of molecules; with radius 2 these are ECFP4.

    Fingerprints are computed from the graphs, so that it works on every data set whose schema says that its
    graphs are molecules. Where the graphs hold no hydrogens, charges or rings, RDKit works them out.

    Parameters
    ----------
    radius
        Largest distance from the middle of an environment to its rim, in bonds.
    n_bits
        Length of the fingerprint.
    n_trees
        Number of trees.
    class_weight
        "balanced" makes every class weigh the same, None every graph.
    seed
        Seed of the forest.
    n_jobs
        Threads.

    Attributes
    ----------
    forest_
        The fitted forest.
    """

    def __init__(
        self,
        radius: int = 2,
        n_bits: int = 2048,
        n_trees: int = 500,
        class_weight: str | None = None,
        seed: int = 0,
        n_jobs: int | None = 1,
    ) -> None:
        self.radius = radius
        self.n_bits = n_bits
        self.n_trees = n_trees
        self.class_weight = class_weight
        self.seed = seed
        self.n_jobs = n_jobs

    def _fit(self, train: GraphDataset, codes: IntArray, val: GraphDataset | None) -> None:  # noqa: ARG002
        from sklearn.ensemble import RandomForestClassifier

        self.forest_ = RandomForestClassifier(
            self.n_trees, class_weight=self.class_weight, random_state=self.seed, n_jobs=self.n_jobs
        )
        self.forest_.fit(fingerprints(train.graphs, train.schema, self.radius, self.n_bits), codes)

    def _proba(self, graphs: list[Graph]) -> FloatArray:
        return np.asarray(
            self.forest_.predict_proba(fingerprints(graphs, self.schema_, self.radius, self.n_bits))
        )


def fingerprints(
    graphs: list[Graph], schema: Schema | None, radius: int = 2, n_bits: int = 2048
) -> npt.NDArray[np.uint8]:
    """Return one row of bits per molecule.

    Raises
    ------
    ModelError
        Where the graphs are no molecules.
    """
    if schema is None or schema.domain != "molecule":
        raise ModelError(
            "fingerprints: expected molecules (a schema with domain 'molecule'), got other graphs"
        )
    purpose = "The baseline ecfp-rf"
    chem: Any = require("rdkit.Chem", "chem", purpose)
    generators: Any = require("rdkit.Chem.rdFingerprintGenerator", "chem", purpose)
    generator = generators.GetMorganGenerator(radius=radius, fpSize=n_bits)
    rows = np.zeros((len(graphs), n_bits), dtype=np.uint8)
    for index, graph in enumerate(graphs):
        try:
            molecule = graph_molecule(graph, schema)
        except GraphError as error:
            raise ModelError(f"fingerprints: graph {index}: {error}") from error
        chem.FastFindRings(molecule)
        rows[index] = generator.GetFingerprintAsNumPy(molecule)
    return rows
