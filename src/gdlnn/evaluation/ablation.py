"""The ablation: the paper's recipe with one choice changed at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gdlnn.evaluation.methods import METHODS, Configuration, Method, mining_specs

BASE = "ablation-base"
BASE_WORDS = "ε = 0.1, k = |D|, connected, exists, not pooled, greedy, mined"
_UNION = (0.1, 1, "1%")


def _variant(name: str, title: str, parameters: Configuration | None = None, **mining: Any) -> Method:
    base: Configuration = {"epsilon": 0.1, "k": 1.0, "learning_rate": 0.005}
    return replace(
        METHODS["gdlnn-paper"],
        name=name,
        title=title,
        quick={**base, **(parameters or {})},
        space={},
        programs=mining_specs(**mining),
    )


VARIANTS: dict[str, Method] = {
    method.name: method
    for method in (
        _variant(BASE, f"base: {BASE_WORDS}"),
        _variant("ablation-epsilon-1", "ε = 1", {"epsilon": 1}),
        _variant("ablation-epsilon-1pct", "ε = 0.01·|D|", {"epsilon": "1%"}),
        _variant("ablation-epsilon-union", "ε = 0.1, 1, 0.01·|D| together", {"epsilon": _UNION, "k": None}),
        _variant("ablation-k-0.01", "k = 0.01·|D|", {"k": 0.01}),
        _variant("ablation-k-0.2", "k = 0.2·|D|", {"k": 0.2}),
        _variant("ablation-k-0.4", "k = 0.4·|D|", {"k": 0.4}),
        _variant("ablation-unconnected", "not connected: the paper's literal rules", connected=False),
        _variant("ablation-count", "log(1 + count), not exists", {"activation": "count", "log_counts": True}),
        _variant("ablation-pooled", "pooled features appended", {"pooled": True}),
        _variant("ablation-sequential", "sequential search", strategy="sequential"),
        _variant("ablation-random", "random programs of the same number and sizes", random=True),
        _variant(
            "ablation-union-pooled",
            "programs of three ε, pooled features, five members",
            {"epsilon": _UNION, "k": None, "pooled": True, "members": 5},
        ),
    )
}  # fmt: skip
"""The variants by name; the first one is the base they are compared with."""
