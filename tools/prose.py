"""Check the English of the docs, docstrings, comments and messages; `python tools/prose.py [FILE ...]`.

It checks the length of sentences, a list of constructions this project does not use, and British spelling.
Code and names in backticks are left out. `tools/prose_exceptions.txt` lists what is allowed and why; an
exception that nothing needs any more is an error too.
"""

from __future__ import annotations

import ast
import fnmatch
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parent.parent
EXCEPTIONS = Path(__file__).with_name("prose_exceptions.txt")
LONGEST = 40  # words in a sentence

# Files that are checked, as git lists them. Generated pages and programs' wording are not written by hand.
CHECKED = ("*.md", "*.py", "*.hpp", "*.cpp", "*.html", "*.j2")
NOT_CHECKED = ("tests/*", "tools/prose.py", "examples/*.ipynb")

_AMERICAN = (
    r"\b(?:\w*colors?|\w*colored|neighbor\w*|behaviors?|favors?|centers?|centered|labeled|modeling|gray|analyz\w+"
    r"|(?:normal|optim|minim|maxim|general|summar|recogn|initial|serial|standard|random|organ|individual|penal|priorit"
    r"|custom|visual|real|util|categor|canonical|token|vector)iz(?:e|es|ed|ing|er|ers|ation))\b"
)
RULES = {
    name: (re.compile(pattern, re.IGNORECASE), advice)
    for name, pattern, advice in (
        ("the-part-that", r"\bthe parts? that\b", "name the thing"),
        ("what-is-of", r"\bwhat is\b[^.,;:]{0,30}\bof\b", "name the thing"),
        ("as-it-comes", r"\b(?:as|however) (?:it|that|they) comes?\b", "say what happens"),
        ("tells", r"\b(?:tells|told)\b(?! apart)", "says, shows, documents"),
        ("stands", r"\b(?:stands?|stood)\b(?! for\b)", "is, is listed, is written"),
        ("by-number", r"\bby number\b", "by index"),
        ("data-set", r"\bdata[ -]sets?\b", "dataset"),
        ("part", r"\b(?:training|test|validation|train|held-out) parts?\b", "training set, test set"),
        ("cannot-be", r"\bcannot be(?=[.;,]|$)", "invalid"),
        ("is-no", r"(?<!there )\b(?:is|are|was) no (?=\w+(?:[.;,:)]|$))", "is not a"),
        ("from-before", r"\bfrom before\b", "the existing, the previous"),
        ("as-it-was", r"\b(?:is|are|stays?|as) (?:as )?(?:it|they) (?:was|were)\b", "unchanged"),
        ("goes-on", r"\bgo(?:es)? on where\b", "resumes where it stopped"),
        ("anew", r"\b(?:anew|afresh)\b", "again"),
        ("inversion", r"\b(?:of|from|to|for) which there (?:is|are)\b", "turn the sentence round"),
        ("in-the-making", r"\bin the making\b", "alpha"),
        ("beside", r"\bbeside\b", "next to, besides, compared with"),
        ("rising", r"\brising\b", "sorted, increasing"),
        ("so-many", r"\b(?:of|from|least|exactly|in|to|after|for) so many\b", "this many"),
        ("whoever", r"\bwhoever\b", "name the person or process"),
        ("american", _AMERICAN, "British spelling"),
    )
}


class Text(NamedTuple):
    """A run of prose and the line of its file on which it begins."""

    line: int
    text: str


class Finding(NamedTuple):
    """A sentence that breaks a rule."""

    path: str
    line: int
    rule: str
    words: str
    advice: str


# --- prose in files ------------------------------------------------------------------------------------

_CODE = re.compile(r"``.+?``|`[^`\n]+`|\$[^$\n]+\$|<[^<>\n]+>|https?://\S+", re.DOTALL)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d+\.)\s+|^\s*#+\s+|^\s*>\s?|^\s*:\w.*?:\s?")
_GENERATED = re.compile(r"<!-- (\S+):begin -->.*?<!-- \1:end -->", re.DOTALL)
_BREAK = re.compile(r"^\s*(?:[-=~^─#*]{3,}|\.\. .*|::)?\s*$")


def of_markdown(text: str) -> Iterator[Text]:
    """Yield the paragraphs, list items and table cells of a page, without code and generated tables."""
    text = _GENERATED.sub(lambda found: "\n" * found[0].count("\n"), text)
    fenced = False
    block: list[str] = []
    first = 1
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        fence = line.lstrip().startswith(("```", ":::"))
        cells = line.lstrip().startswith("|")
        if fence:
            fenced = not fenced if line.lstrip().startswith("```") else fenced
        if (fence or fenced or cells or _BREAK.match(line) or _ITEM.match(line)) and block:
            yield Text(first, " ".join(block))
            block = []
        if cells and not fenced:
            yield from (Text(number, cell) for cell in line.split("|"))
        elif not (fence or fenced or _BREAK.match(line)):
            first = first if block else number
            block.append(_ITEM.sub("", line))
            if line.startswith("#"):
                yield Text(first, block.pop())


def of_docstring(text: str, line: int) -> Iterator[Text]:
    """Yield the paragraphs of a docstring; the names of parameters and literal blocks end one."""
    block: list[str] = []
    first, literal = line, -1
    lines = text.splitlines()
    for number, current in enumerate([*lines, ""], start=line):
        indent = len(current) - len(current.lstrip())
        if literal >= 0 and current.strip() and indent <= literal:
            literal = -1
        following = lines[number - line + 1] if number - line + 1 < len(lines) else ""
        name = bool(following.strip()) and len(following) - len(following.lstrip()) > indent and number > line
        heading = bool(re.match(r"^\s*-{3,}\s*$", following))
        stop = literal >= 0 or bool(_BREAK.match(current) or _ITEM.match(current)) or name or heading
        if stop and block:
            yield Text(first, " ".join(block))
            block = []
        if literal < 0 and not (_BREAK.match(current) or name or heading):
            first = first if block else number
            block.append(_ITEM.sub("", current.strip()))
        if current.rstrip().endswith("::"):
            literal = indent


def _is_prose(text: str) -> bool:
    return len(re.findall(r"(?<![\w/.\\-])[A-Za-z][a-z]+(?![\w/\\=(-])", text)) >= 3


def of_python(source: str) -> Iterator[Text]:
    """Yield docstrings, comments, and the strings that read like sentences: messages and help."""
    nodes = list(ast.walk(ast.parse(source)))
    docstrings = set()
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[0] if node.body else None
            if isinstance(body, ast.Expr) and isinstance(body.value, ast.Constant):
                docstrings.add(id(body.value))
                if isinstance(body.value.value, str):
                    yield from of_docstring(body.value.value, body.value.lineno)
    pieces = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    seen = docstrings | pieces
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            text = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "`x`" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in seen:
            text = node.value
        else:
            continue
        if _is_prose(text):
            yield from (Text(node.lineno, block) for block in re.split(r"\n\s*\n|\n(?=\s*[-•]|\w+:)", text))
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    yield from _joined(
        (token.start[0], token.string.lstrip("#! "), bool(token.line[: token.start[1]].strip()))
        for token in tokens
        if token.type == tokenize.COMMENT
    )


def of_cpp(source: str) -> Iterator[Text]:
    """Yield the comments of a C++ file."""
    lines = enumerate(source.splitlines(), start=1)
    found = ((number, re.match(r"(.*?)//+[!<]?(.*)", line)) for number, line in lines)
    yield from _joined((number, match[2].strip(), bool(match[1].strip())) for number, match in found if match)


def of_html(source: str) -> Iterator[Text]:
    """Yield the text between the tags of a template, without scripts and styles."""
    hidden = re.compile(r"<(script|style)\b.*?</\1>|\{[%#].*?[%#]\}|<!--.*?-->", re.DOTALL | re.IGNORECASE)
    plain = hidden.sub(lambda found: "\n" * found[0].count("\n"), source)
    plain = re.sub(r"\{\{.*?\}\}", "`x`", plain, flags=re.DOTALL)
    plain = re.sub(r"<[^>]*>", lambda found: "\x00" + "\n" * found[0].count("\n"), plain)
    line = 1
    for run in plain.split("\x00"):
        yield Text(line, run)
        line += run.count("\n")


def _joined(comments: Iterable[tuple[int, str, bool]]) -> Iterator[Text]:
    """Join the comments of lines that follow each other; a comment after code begins a new text."""
    block: list[str] = []
    first = last = -1
    for line, text, after_code in comments:
        if block and (after_code or line != last + 1 or not text or text.startswith(("- ", "* "))):
            yield Text(first, " ".join(block))
            block = []
        first = first if block else line
        last = line
        block.append(text)
    if block:
        yield Text(first, " ".join(block))


# --- checking -------------------------------------------------------------------------------------------


def sentences(text: str) -> list[str]:
    """Split prose into sentences; code in backticks becomes one word."""
    plain = _LINK.sub(r"\1", _CODE.sub("`x`", text))
    return [
        part.strip()
        for part in re.split(r"(?<=[.!?…])[)\"'*_]*\s+(?=[A-Z`*_\"'(0-9])", plain)
        if part.strip()
    ]


def check(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the rule, the words and the advice for everything in a text that should be said otherwise."""
    for sentence in sentences(text):
        words = re.findall(r"[\w`'’.-]*\w[\w`'’-]*", sentence)
        if len(words) > LONGEST:
            yield "long", f"{' '.join(words[:8])} …", f"{len(words)} words; make two sentences"
        for rule, (pattern, advice) in RULES.items():
            for found in pattern.finditer(sentence):
                yield rule, sentence[max(0, found.start() - 25) : found.end() + 25], advice


def texts(path: Path) -> Iterator[Text]:
    """Yield the prose of a file, by its suffix."""
    source = path.read_text(encoding="utf-8")
    readers = {".md": of_markdown, ".py": of_python, ".hpp": of_cpp, ".cpp": of_cpp}
    yield from readers.get(path.suffix, of_html)(source)


def findings(paths: Iterable[str]) -> Iterator[Finding]:
    """Yield what is wrong in some files, given relative to the root."""
    for path in paths:
        for line, text in texts(ROOT / path):
            yield from (Finding(path, line, *found) for found in check(text))


def exceptions() -> list[tuple[str, str, str]]:
    """Read the exceptions: on each line a file pattern, a rule (or `rule: words`, or `*`) and a reason."""
    lines = EXCEPTIONS.read_text(encoding="utf-8").splitlines()
    entries = [line.split("|") for line in lines if line.strip() and not line.startswith("#")]
    return [(path.strip(), rule.strip(), reason.strip()) for path, rule, reason in entries]


def allows(exception: tuple[str, str, str], finding: Finding) -> bool:
    """Say whether an exception covers a finding."""
    rule, _, words = exception[1].partition(": ")
    return (
        fnmatch.fnmatch(finding.path, exception[0]) and rule in ("*", finding.rule) and words in finding.words
    )


def tracked_files() -> list[str]:
    """Return the files to check when none are named."""
    listed = subprocess.run(
        ["git", "ls-files", *CHECKED], cwd=ROOT, check=True, capture_output=True, text=True
    )
    paths = [path for path in listed.stdout.splitlines() if (ROOT / path).is_file()]
    return [path for path in paths if not any(fnmatch.fnmatch(path, pattern) for pattern in NOT_CHECKED)]


def main(arguments: list[str]) -> int:
    """Check some files, or all that git tracks; return the exit status."""
    allowed = exceptions()
    used = set()
    failed = 0
    for finding in findings(arguments or tracked_files()):
        covering = [entry for entry in allowed if allows(entry, finding)]
        used.update(covering)
        if not covering:
            failed += 1
            print(f"{finding.path}:{finding.line}: {finding.rule}: “{finding.words}” ({finding.advice})")
    unused = [] if arguments else [entry for entry in allowed if entry not in used]
    for path, rule, _ in unused:
        print(f"{EXCEPTIONS.name}: nothing needs the exception “{path} | {rule}”; remove it")
    return 1 if failed or unused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
