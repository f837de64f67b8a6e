"""Metrics of explanations, each with its formula in its docstring and in docs/explanations.md."""

from gdlnn.explain.metrics.faithfulness import (
    characterization,
    fidelity_minus,
    fidelity_plus,
    unfaithfulness,
)
from gdlnn.explain.metrics.ground_truth import Overlap, auc, jaccard, overlap
from gdlnn.explain.metrics.measure import Measures, measure, measure_model
from gdlnn.explain.metrics.paper import fidelity, sparsity
from gdlnn.explain.metrics.programs import ProgramQuality, program_quality
from gdlnn.explain.metrics.stability import Stability, stability

__all__ = [
    "Measures",
    "Overlap",
    "ProgramQuality",
    "Stability",
    "auc",
    "characterization",
    "fidelity",
    "fidelity_minus",
    "fidelity_plus",
    "jaccard",
    "measure",
    "measure_model",
    "overlap",
    "program_quality",
    "sparsity",
    "stability",
    "unfaithfulness",
]
