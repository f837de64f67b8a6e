"""A worker: one process that holds the model and answers one question after another.

It is started by the server, reads questions from its standard input and ends when that closes. Whatever
hangs, crashes or grows here can be ended without harm to the server.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from pathlib import Path
from typing import IO, Any

from gdlnn.errors import GDLNNError
from gdlnn.server.limits import Limits
from gdlnn.server.wire import packed, read_message

OK, BAD_REQUEST, BROKEN = 200, 422, 500
logger = logging.getLogger(__name__)


def main(arguments: list[str]) -> int:
    """Load the model, say that it is loaded, answer until the server is gone."""
    for stop in (signal.SIGINT, signal.SIGTERM):  # the server decides when its workers end
        signal.signal(stop, signal.SIG_IGN)
    stdin = sys.stdin.buffer
    # What a library prints must not come between the answers.
    stdout = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    settings = json.loads(arguments[0])
    try:
        answers = _load(settings)
        described = json.dumps(answers.describe(), allow_nan=False).encode()
    except (GDLNNError, OSError) as error:
        _send(stdout, packed({"status": BAD_REQUEST, "error": str(error)}))
        return 2
    _send(stdout, packed({"status": OK}, described))
    while (message := read_message(stdin)) is not None:
        _send(stdout, _answered(answers, *message))
    return 0


def _load(settings: dict[str, Any]) -> Any:
    from gdlnn.datasets.resolve import resolve_dataset
    from gdlnn.model import load_model

    model = load_model(Path(settings["model"]))
    import torch  # not before the file is known to be a model: it takes seconds

    torch.set_num_threads(1)  # workers run side by side, and a head is small
    model.n_jobs = 1
    examples = None
    if settings.get("examples"):
        examples = resolve_dataset(settings["examples"], smiles=settings.get("smiles"), download=False)
    from gdlnn.server.answers import Answers

    return Answers(model, Limits.from_json(settings["limits"]), examples)


def _answered(answers: Any, header: dict[str, Any], body: bytes) -> bytes:
    """Return the answer to one question as a message; nothing that a question holds ends the worker."""
    try:
        do, options = header["do"], header["options"]
        if do == "predict_file":
            found = answers.predict_file(body, options["kind"], options["smiles"], options["id"])
        elif do == "explain":
            found = answers.explain(json.loads(body) | options)
        else:
            found = answers.predict(json.loads(body))
        return packed({"status": OK}, json.dumps(found, allow_nan=False).encode())
    except GDLNNError as error:
        return packed({"status": BAD_REQUEST, "error": str(error)})
    except Exception:
        logger.exception("%s: unexpected failure", header.get("do"))
        return packed({"status": BROKEN, "error": "something went wrong; the server's log says what"})


def _send(stream: IO[bytes], message: bytes) -> None:
    stream.write(message)
    stream.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
