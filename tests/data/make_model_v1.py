"""Make the model file of version 1 that tests load, and what it predicts: run once, when it was new."""

from __future__ import annotations

import json
from pathlib import Path

from gdlnn import GDLNNClassifier, make_ba_2motifs

HERE = Path(__file__).parent


def main() -> None:
    model = GDLNNClassifier(epsilon=(0.1, 1), hidden=(4,), epochs=20, members=2, progress=False)
    model.fit(make_ba_2motifs(12, seed=0)).save(HERE / "model_v1.gdlnn")
    chances = model.predict_proba(make_ba_2motifs(6, seed=1)).tolist()
    (HERE / "model_v1.json").write_text(json.dumps(chances) + "\n")


if __name__ == "__main__":
    main()
