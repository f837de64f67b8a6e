"""Conjugation in SMARTS: RDKit's rule for it, said by what the two atoms of a bond have around them.

RDKit calls a bond conjugated when it is aromatic, or when it and a multiple bond meet at an atom with two or
three connections and all three atoms can lend electrons. SMARTS has no word for that, and the atom in the
middle may be either end; so a condition on one bond becomes a few alternatives.
"""

from __future__ import annotations

from typing import NamedTuple

from gdlnn.gdl.atoms import AROMATIC, DOUBLE, OTHER, SINGLE, TRIPLE

# Atoms that RDKit lets take part: they have electrons to lend, no more than three connections, and are no
# heavier than oxygen, or end a double bond to sulfur and its kin.
_LENDER = "$([#6,#7,#8,#14;X1,X2,X3]),$([#5;X1,X2]),$([#5;X3;-]),$([#16,#34,#52;X1])"
LENDER = f"$([{_LENDER}])"
# An atom at which a multiple bond to a lender ends; and one with two lenders around it.
_MEETING = f"$([{_LENDER};X2,X3;$(*=,#,:[{_LENDER}])])"
_BETWEEN = f"$([{_LENDER};X2,X3;$(*(~[{_LENDER}])~[{_LENDER}])])"


class Alternative(NamedTuple):
    """One way for a bond to be (or not to be) conjugated: words for both ends and the types it may have."""

    source: str
    types: frozenset[str]
    target: str


def alternatives(types: frozenset[str], conjugated: bool) -> list[Alternative]:
    """Return the ways for a bond of some types to be conjugated, or not to be.

    Parameters
    ----------
    types
        The types the bond may have, out of `TYPES`.
    conjugated
        Which of the two.
    """
    plain, multiple = types & {SINGLE, OTHER}, types & {DOUBLE, TRIPLE}
    found: list[Alternative] = []
    if conjugated:
        found.append(Alternative("", types & {AROMATIC}, ""))
        for some, middle in ((plain, _MEETING), (multiple, _BETWEEN)):
            found += [Alternative(middle, some, LENDER), Alternative(LENDER, some, middle)]
    else:
        some = plain | multiple
        found += [Alternative(f"!{LENDER}", some, ""), Alternative("", some, f"!{LENDER}")]
        for kinds, middle in ((plain, _MEETING), (multiple, _BETWEEN)):
            found.append(Alternative(f"!{middle}", kinds, f"!{middle}"))
    return [way for way in found if way.types]
