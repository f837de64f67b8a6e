"""Studies: methods × datasets under a protocol, with resumable results, tables and figures.

A plan (`AccuracyPlan`, `ExplanationPlan`) lists the cells, `RunConfig` configures the run, `Study` runs it
and writes to a folder, `Store` reads that folder. The baselines are in `gdlnn.studies.baselines`. Only the
command line depends on studies.
"""

from gdlnn.studies.accuracy import AccuracyPlan
from gdlnn.studies.explanations import ExplanationPlan
from gdlnn.studies.inputs import PROTOCOLS
from gdlnn.studies.methods import EXPLAINERS, METHODS, Explainer, Method
from gdlnn.studies.motifs import MotifStudy
from gdlnn.studies.pool import run_task
from gdlnn.studies.statistics import compare, summarise
from gdlnn.studies.store import Protocol, RunConfig, Store, Task
from gdlnn.studies.study import Job, Study, StudyPlan

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
