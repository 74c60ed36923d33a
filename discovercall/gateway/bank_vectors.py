"""Vectors of the bank's texts that come with the toolkit, so that a first search need not compute thousands.

Each row is kept as whole numbers from -127 to 127 and a scale, which moves a cosine by less than 0.005.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discovercall.foundation.resources import resource_path
from discovercall.gateway.bank import Bank, default_bank

if TYPE_CHECKING:
    from discovercall.gateway.encoder import Vectors


def vectors_path() -> Path:
    """Where the vectors lie."""
    return resource_path("tasks", "gateway", "capability-bank.vectors.npz")


def pack(bank: Bank, identity: str, vectors: Vectors) -> bytes:
    """The file's content.

    Args:
        bank: whose texts the rows belong to, in their order.
        identity: of the model.
        vectors: shape (texts, dimensions), unit rows.
    """
    scale = np.abs(vectors).max(axis=1, keepdims=True) / 127
    rows = np.round(vectors / scale).astype(np.int8)
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        identity=np.array(identity),
        bank=np.array(bank.digest),
        rows=rows,
        scale=scale.astype(np.float32),
    )
    return buffer.getvalue()


def bundled_vectors(identity: str) -> dict[str, Vectors]:
    """Unit vectors by text, as far as they are of this model and of the bank as it is; else none.

    Args:
        identity: of the model.
    """
    bank = default_bank()
    try:
        with np.load(vectors_path(), allow_pickle=False) as stored:
            if str(stored["identity"]) != identity or str(stored["bank"]) != bank.digest:
                return {}
            vectors = stored["rows"].astype(np.float32) * stored["scale"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return {}
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = [text for archetype in bank.archetypes for text in archetype.texts]
    return dict(zip(texts, vectors, strict=True)) if len(texts) == len(vectors) else {}
