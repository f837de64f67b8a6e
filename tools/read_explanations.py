"""Write docs/read-an-explanation.md: ten questions of chemists, answered by what models say.

::

    python tools/read_explanations.py     # needs GDLNN_DATA; trains three models once, in build/read
"""

# ruff: noqa: E501 - sentences of a page

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rdkit import Chem

import gdlnn
from gdlnn.explain import Explanation, counterfactual

ROOT = Path(__file__).resolve().parent.parent
BUILD, PAGE = ROOT / "build" / "read", ROOT / "docs" / "read-an-explanation.md"
N_TRAINED, N_HELD_OUT = 600, 150
HEAD = """# Read an explanation

An explanation says what a model predicts for one molecule, how probable that is, and which places of the molecule speak for it and against it, in percentage points.
`gdlnn explain MODEL SMILES` prints it, and `model.explain(smiles).describe()` in Python.
All output below is real: three models with default settings, each trained on 600 molecules of BBBP, BACE or Mutagenicity.
Mutagenicity is a dataset of graphs whose hydrogens are nodes, so its molecules were converted in Python and atoms after the last heavy one are hydrogens.
`python tools/read_explanations.py` writes this page anew.

- The first line is the prediction with its probability. A threshold other than 50% is named, and so is a molecule unlike the training set.
- *starts at* is what the model says of a molecule without any pattern; the points of all lines lead from there to the prediction.
- A place is a connected part of the molecule. Atoms are numbered in the order of the SMILES, without explicit hydrogens and removed fragments: from 1 in texts and pictures, from 0 in Python and JSON.
- *everything else* and *the molecule as a whole* (size, polar surface, shares of atoms) are lines of their own.
"""


def trained(name: str) -> tuple[Any, gdlnn.GraphDataset]:
    """Return a model of a dataset and the molecules held out, from a file if it was trained before."""
    data = gdlnn.load_dataset(name)
    order = np.random.default_rng(301).permutation(len(data))
    file = BUILD / f"{name}.gdlnn"
    if not file.is_file():
        BUILD.mkdir(parents=True, exist_ok=True)
        gdlnn.GDLNNClassifier(random_state=301, verbose=False).fit(data.take(order[:N_TRAINED])).save(file)
    return gdlnn.load_model(file), data.take(order[N_TRAINED : N_TRAINED + N_HELD_OUT])


def with_hydrogens(smiles: str, schema: gdlnn.Schema) -> gdlnn.Graph:
    """Return a molecule as Mutagenicity has it: all hydrogens are nodes, and bonds are not aromatic."""
    molecule = Chem.AddHs(Chem.MolFromSmiles(smiles))
    Chem.Kekulize(molecule, clearAromaticFlags=True)
    atoms = {name: value for value, name in schema.node[0].values.items()}
    bonds = {name: value for value, name in schema.edge[0].values.items()}
    nodes = [[atoms[atom.GetSymbol()]] for atom in molecule.GetAtoms()]
    edges = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]
    kinds = [[bonds[str(bond.GetBondType()).lower()]] for bond in molecule.GetBonds()]
    return gdlnn.Graph(nodes, edges, kinds, schema=schema)


def section(question: str, smiles: str, found: Explanation, answer: str) -> str:
    """Return a question with the output of a molecule."""
    return f"\n## {question}\n\n`{smiles}`\n\n```text\n{found.describe()}\n```\n\n{answer}\n"


def held_out(data: gdlnn.GraphDataset, explained: list[Explanation], wanted: Any) -> tuple[str, Explanation]:
    """Return the first of the smallest held-out molecules whose explanation is as wanted."""
    assert data.y is not None
    rows = sorted(range(len(explained)), key=lambda row: (explained[row].graph.n_nodes, row))
    row = next(row for row in rows if wanted(explained[row], data.y[row]))
    return (data.smiles or [])[row], explained[row]


def main() -> None:
    """Write the page."""
    barrier, unseen = trained("BBBP")
    explained = barrier.explain(unseen)
    inhibitors, others = trained("BACE")
    toxic, graphs = trained("Mutagenicity")
    assert graphs.schema is not None
    aspirin, caffeine = "CC(=O)Oc1ccccc1C(=O)O", "Cn1c(=O)c2c(ncn2C)n(C)c1=O"
    choline, salt, silicon = "C[N+](C)(C)CCO", "CC(=O)[O-].[Na+]", "C[Si](C)(C)O[Si](C)(C)C"
    nitrobenzene = "c1ccccc1[N+](=O)[O-]"
    nitro = toxic.explain(with_hydrogens(nitrobenzene, graphs.schema))
    change = counterfactual(barrier, barrier.explain(aspirin).graph)
    wrong = held_out(unseen, explained, lambda e, y: e.prediction != y and e.probability > 0.7)
    nothing = held_out(
        unseen, explained, lambda e, y: e.prediction == y and e.domain == "inside" and not e.has_reason
    )
    size = held_out(
        unseen,
        explained,
        lambda e, y: e.prediction == y and e.contributions.baseline + e.contributions.added < 0.45,
    )
    active = held_out(
        others, inhibitors.explain(others), lambda e, y: e.prediction == y == 1 and e.graph.n_nodes > 20
    )
    flip = (
        "No removal of atoms changes it." if change is None else f"What would change it: {change.describe()}."
    )
    parts = [
        HEAD,
        section(
            "Does it find the nitro group?",
            nitrobenzene,
            nitro,
            "Yes: the nitro group is the largest place, and it speaks for a mutagen, against the prediction.\nThe baseline and the bare ring outweigh it.",
        ),
        section("Which part of aspirin counts?", aspirin, barrier.explain(aspirin), flip),
        section(
            "And a molecule that surely passes, caffeine?",
            caffeine,
            barrier.explain(caffeine),
            "Nothing adds five points: a molecule without any known pattern is predicted to pass, and caffeine has little that speaks against it.",
        ),
        section(
            "Does it know what a permanent charge does?",
            choline,
            barrier.explain(choline),
            "It sees the ammonium and counts it too little: few training molecules have one.",
        ),
        section(
            "What makes this a BACE inhibitor?",
            *active,
            "The places are correlations in the training set, not a binding mode.\nCompare them with what is known of the series.",
        ),
        section(
            "May I trust it for a molecule unlike the training set?",
            silicon,
            barrier.explain(silicon),
            "No: the first line says so, and why.\nThe points explain the model, not the molecule.",
        ),
        section(
            "Why is this one wrong?",
            *wrong,
            "The model knows the groups that speak against its answer, and counts them too little.\nAsk whether the training set has enough molecules with them.",
        ),
        section(
            "Why is there no reason?",
            *nothing,
            "The baseline alone gives the class: most training molecules are of it, and nothing here adds five points.\nDo not look for a group that makes it so.",
        ),
        section(
            "Is it size that decides?",
            *size,
            "In part: without the line of the molecule as a whole, the other class would be predicted.\nIt holds size, composition, polar surface and the like, which no single place decides.",
        ),
        section(
            "What about a salt?",
            salt,
            barrier.explain(salt),
            "All fragments are read as they are written.\nTrain with `--standardize parent` to leave counter-ions out.",
        ),
    ]
    PAGE.write_text("".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
