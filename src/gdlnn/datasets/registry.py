"""The nine data sets of the paper: where they are published, their files, and the sums of those."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gdlnn.errors import DatasetError

SPLIT_FILE = "PL4XGL_split.json"
TU_BASE = "https://www.chrsmrrs.com/graphkerneldatasets"
MOLECULENET_BASE = "https://deepchemdata.s3-us-west-1.amazonaws.com/datasets"
BA_2MOTIFS_BASE = "https://github.com/flyingdoog/PGExplainer/raw/master/dataset"


@dataclass(frozen=True)
class Source:
    """Where one data set comes from and how it is read."""

    name: str
    kind: Literal["tu", "smiles", "ba-2motifs"]
    base: str
    file: str
    """The file to fetch from `base`."""
    prefix: str = ""
    """NAME in NAME_A.txt, where it is not the data set's name."""
    smiles: str = ""
    label: str = ""
    task: str = ""
    size: tuple[int, float, float, int] = (0, 0.0, 0.0, 0)
    """Graphs, average nodes, average edges, classes."""

    @property
    def tu_prefix(self) -> str:
        """NAME in NAME_A.txt."""
        return self.prefix or self.name


def _tu(name: str, task: str, size: tuple[int, float, float, int]) -> Source:
    return Source(name, "tu", TU_BASE, f"{name}.zip", task=task, size=size)


REGISTRY: dict[str, Source] = {
    source.name: source
    for source in (
        _tu("MUTAG", "is a nitroaromatic compound a mutagen?", (188, 17.93, 19.79, 2)),
        _tu("Mutagenicity", "is a compound a mutagen?", (4337, 30.32, 30.77, 2)),
        Source(
            "BBBP", "smiles", MOLECULENET_BASE, "BBBP.csv", smiles="smiles", label="p_np",
            task="does a drug pass the blood-brain barrier?", size=(2039, 24.06, 25.95, 2),
        ),
        Source(
            "BACE", "smiles", MOLECULENET_BASE, "bace.csv", smiles="smiles", label="Class",
            task="does a compound inhibit beta-secretase 1?", size=(1513, 34.09, 36.86, 2),
        ),
        _tu("ENZYMES", "which of six classes is an enzyme of?", (600, 32.63, 62.14, 6)),
        _tu("PROTEINS", "is a protein an enzyme?", (1113, 39.06, 72.82, 2)),
        _tu("PTC_MR", "does a compound give cancer to male rats?", (344, 14.29, 14.69, 2)),
        _tu("NCI1", "does a compound slow lung cancer cells?", (4110, 29.87, 32.30, 2)),
        Source(
            "BA-2Motifs", "ba-2motifs", BA_2MOTIFS_BASE, "BA-2motif.pkl", prefix="BA_2Motifs",
            task="does a random graph carry a cycle or a house?", size=(1000, 25.00, 25.48, 2),
        ),
    )
}  # fmt: skip
"""The nine, in the order of the paper's table."""

_ALIASES = {"ptc": "PTC_MR", "ba2motif": "BA-2Motifs", "ba2motifs": "BA-2Motifs"}

SHA256: dict[str, str] = {
    "BA_2Motifs_A.txt": "a3ad01e7bd6e7d45ac81ad17a82d9f7835a85424f7ac0fe347f0b7255e7261fe",
    "BA_2Motifs_graph_indicator.txt": "253002775d55f24e1d667f01349543b6c51282c934bca213b4da7189848e2319",
    "BA_2Motifs_graph_labels.txt": "63a44411fd6342b9c4429828c16e144a2a11ef5244e25bb60f0ffa8b3ee2ffce",
    "bace.csv": "d36f089649984f7bfaa4589ccc3ae907b831780a01ccfd065a5b604939e1a5df",
    "BBBP.csv": "d07a38487aeac5cee5508413e468043ef3097451d2a112701c2d60be9ec6b662",
    "ENZYMES_A.txt": "5553c84f8f562f3e199dfd27192174f485e85c44c1357661098668937a739cbf",
    "ENZYMES_graph_indicator.txt": "95ba0fa47eba6f02e6b754a215dc66d5b49de3f45f57a128514301a8d7ed5f46",
    "ENZYMES_graph_labels.txt": "04743e08967e61e65cdacbb90f8df6ee53742b3d2e7b84675b85ebac70506856",
    "ENZYMES_node_attributes.txt": "305a8fc3b12f79fb844ef3374d6a3c8ceeb4887dd4f86bbfe37932c4c5434e7b",
    "ENZYMES_node_labels.txt": "8263eb9b64efa231a5886343483ccfc0342f2407014763a8f738fd51c32ce770",
    "MUTAG_A.txt": "d9656ca7493f3445d737c711710bb36fd432dddd1c0ea32e1d4713c86ebd28e2",
    "MUTAG_edge_labels.txt": "4669ce755075ff86c3240709345745886400908fa637a49310459b9c267b3e56",
    "MUTAG_graph_indicator.txt": "7d520a4d6c7961c0cdeabe076d8fe27e795b6d373485c9a2b744987e560a2056",
    "MUTAG_graph_labels.txt": "a1518ea39ba3426bd42f57396b9c4baffe68e9adc718caeeab0119c6591a5f2c",
    "MUTAG_node_labels.txt": "678f429965490e84dd27713017538c995fc05d1621beac910848b600015ee863",
    "Mutagenicity_A.txt": "ae85e22b4b898ebd819d2ed3adc8f06a7bf1cda746b333086472d19b36711145",
    "Mutagenicity_edge_labels.txt": "bf8e783386ac22e6033bbce56d765c0a4336649bd590a6f1e467b27b549f2114",
    "Mutagenicity_graph_indicator.txt": "88b2d83ff10fad75b3280654061e965976f74e75620058c371ed23567236b4bc",
    "Mutagenicity_graph_labels.txt": "b604c7dcbfdf89193901e32abdcbf9b5b92137414ce22231f00ed65d48ec48f9",
    "Mutagenicity_node_labels.txt": "b429ec418c831d02dc3088b2fe08d11214627850d2bbdacfa9797c0510e70ae7",
    "NCI1_A.txt": "2c028eda59a5fe96e2265a63d9ac236901bd9a7dc658498be13cd704a703076d",
    "NCI1_graph_indicator.txt": "ffe5acfa754b057d5ce0dc725c5aadb631628161886cc040d38c719635257dc5",
    "NCI1_graph_labels.txt": "fae44681e70113f496256ae87eaac33b7836e3a97fe8e023933b84fde6a5c8a2",
    "NCI1_node_labels.txt": "dc0a22b6cbff0c939de00373e823977ba32b358f560e4288d7602f7b51407ee2",
    "PROTEINS_A.txt": "4c4b33e272fc95cac6d27ed6d5d12b9a852c8610e91fff59f8f0dbdd5a20df67",
    "PROTEINS_graph_indicator.txt": "8d4ff1e852a5c28561e9bffb44cf9490bc552b13a3b6156dd12dc7f44e9afc4a",
    "PROTEINS_graph_labels.txt": "c0ef9810c440775252872318d0c8adc385588e14bc4c47a2c34aa96ee3c7cdcd",
    "PROTEINS_node_attributes.txt": "54eef829abb37e458a5fbf3a3c581e48e5810e220463c2cd951856b9ceb08f07",
    "PROTEINS_node_labels.txt": "f758e8ad3d6e3c026b50833d75f6f90735b94eb3345e4243707f495ca8afea8d",
    "PTC_MR_A.txt": "f79523ff94dfbef539e5602a8ac1931a50a2800f33fa1d30e5e31725289b5202",
    "PTC_MR_edge_labels.txt": "acee2f93b52175a329009dc837bea9db7c2a121c2ef0b1587b38bbe6fc9b8177",
    "PTC_MR_graph_indicator.txt": "d52754f3cbc54e29324f884b4c17200c16e06db0c499afae300b4fa1bb6d794b",
    "PTC_MR_graph_labels.txt": "64210accbe4c6c027535b1294e0da652b1f539667f7a2d4bf5121dcd8b00a224",
    "PTC_MR_node_labels.txt": "cc50d1e1c5f4c98b2100cf50c5ddd88ff28b419a9180d531046b75ce22983235",
}
"""SHA-256 of the extracted files of the nine.

BA-2Motifs as published is a pickle: its content is checked instead.
"""


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


def canonical_name(name: str) -> str:
    """Return the registered spelling of a name, whatever its case and dashes; others stay as they are."""
    plain = _plain(name)
    if plain in _ALIASES:
        return _ALIASES[plain]
    return next((known for known in REGISTRY if _plain(known) == plain), name)


def source_of(name: str) -> Source:
    """Return where a data set comes from: one of the nine, or any other TU data set by its name."""
    known = canonical_name(name)
    if known in REGISTRY:
        return REGISTRY[known]
    # The name becomes part of a path and an address.
    if not name or not all(c.isalnum() or c in "-_" for c in name):
        raise DatasetError(
            f"data set {name!r}: expected one of {', '.join(REGISTRY)}, or the name of another TU data set"
        )
    return _tu(name, "", (0, 0.0, 0.0, 0))
