"""Studies: methods × data sets under a protocol, with resumable results, tables and figures."""

from __future__ import annotations

from gdlnn.evaluation.cells import Store, Task
from gdlnn.evaluation.methods import METHODS, Method
from gdlnn.evaluation.protocols import PROTOCOLS, Protocol
from gdlnn.evaluation.running import Place, run_task
from gdlnn.evaluation.study import Study, StudySettings
from gdlnn.evaluation.summary import compare, summarise

__all__ = [
    "METHODS",
    "PROTOCOLS",
    "Method",
    "Place",
    "Protocol",
    "Store",
    "Study",
    "StudySettings",
    "Task",
    "compare",
    "run_task",
    "summarise",
]
