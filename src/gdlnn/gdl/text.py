"""Faults at positions in GDL text, their errors, and quoting, lists and numbers for sentences."""

from __future__ import annotations

from gdlnn.errors import GDLSyntaxError

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_WINDOW = 100  # the most characters of a source line that an error shows


class TextFault(Exception):  # noqa: N818 (it becomes a GDLSyntaxError before anyone else sees it)
    """Something wrong at an offset of the text."""

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(reason)
        self.offset, self.reason = offset, reason


def shown(text: str) -> str:
    """Return text for a message, quoted and shortened."""
    return repr(str(text) if len(text) <= 40 else f"{text[:37]}...")


def shortened(text: str, longest: int) -> str:
    """Return a text of at most `longest` characters."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def listed(words: list[str], last: str = "or") -> str:
    """Return words as a list in a sentence: ``a, b or c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def number_word(n: int) -> str:
    """Return a small number as a word, a larger one in digits."""
    return _NUMBERS[n] if n < len(_NUMBERS) else str(n)


def with_article(name: str) -> str:
    """Return a name with "a" or "an" before it."""
    return f"{'an' if name[0] in 'aeioN' else 'a'} {name}"


def syntax_error(text: str, offset: int, reason: str) -> GDLSyntaxError:
    """Return the error for a position in the text, with the surrounding part of the line."""
    offset = min(max(offset, 0), len(text))
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    end = len(text) if end < 0 else end
    left, right = start, end
    if end - start > _WINDOW:
        left = max(start, min(offset - _WINDOW // 2, end - _WINDOW))
        right = left + _WINDOW
    before, after = ("…" if left > start else ""), ("…" if right < end else "")
    # A tab or another unprintable character becomes one space, so that the caret is in the right column.
    around = "".join(c if c.isprintable() else " " for c in text[left:right])
    line, column = text.count("\n", 0, offset) + 1, offset - start + 1
    return GDLSyntaxError(reason, line, column, f"{before}{around}{after}", len(before) + offset - left)
