"""Fuzz a reader with atheris: ``python -m fuzz TARGET [SECONDS]`` in tests/; `make fuzz` runs all of them.

Inputs that reach new code are saved in build/fuzz/TARGET, where the next run continues; an input that breaks
a reader is written to build/fuzz/TARGET-crash-… and the run ends with an error.
"""

import sys
from pathlib import Path

import atheris

ROOT = Path(__file__).parent.parent.parent
# Python files straight from src/: those that the editable installation loads cannot be instrumented.
sys.path.insert(0, str(ROOT / "src"))
sys.meta_path.sort(key=lambda finder: "Redirecting" in type(finder).__name__)

with atheris.instrument_imports(include=["gdlnn"]):
    from fuzz.readers import PIECES, TARGETS, seeds

target, seconds = sys.argv[1], (sys.argv[2:] or ["600"])[0]
folder = ROOT / "build" / "fuzz"
(folder / target).mkdir(parents=True, exist_ok=True)
for number, seed in enumerate(seeds(target)):
    (folder / target / f"seed-{number}").write_bytes(seed)
entries = ('"' + "".join(f"\\x{byte:02x}" for byte in piece) + '"\n' for piece in PIECES if piece)
(folder / f"{target}.dict").write_text("".join(entries))
files = [f"-dict={folder}/{target}.dict", f"-artifact_prefix={folder}/{target}-", str(folder / target)]
limits = [f"-max_total_time={seconds}", "-timeout=60", "-rss_limit_mb=3000", "-max_len=65536"]
atheris.Setup([sys.argv[0], "-print_final_stats=1", "-verbosity=1", *limits, *files], TARGETS[target])
atheris.Fuzz()
