"""Studies: methods × datasets under a protocol, with resumable results, tables and figures.

A plan (`AccuracyPlan`, `ExplanationPlan`) lists the cells, `RunConfig` configures the run, `Study` runs it
and writes to a folder, `Store` reads that folder. The baselines are in `repro.baselines`. Only the
command line depends on studies.
"""

from repro.accuracy import AccuracyPlan
from repro.explanations import ExplanationPlan
from repro.inputs import PROTOCOLS
from repro.methods import EXPLAINERS, METHODS, Explainer, Method
from repro.motifs import MotifStudy
from repro.pool import run_task
from repro.statistics import compare, summarise
from repro.store import Protocol, RunConfig, Store, Task
from repro.study import Job, Study, StudyPlan

__all__ = [
    "EXPLAINERS",
    "METHODS",
    "PROTOCOLS",
    "AccuracyPlan",
    "Explainer",
    "ExplanationPlan",
    "Job",
    "Method",
    "MotifStudy",
    "Protocol",
    "RunConfig",
    "Store",
    "Study",
    "StudyPlan",
    "Task",
    "compare",
    "run_task",
    "summarise",
]
