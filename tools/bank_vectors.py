"""Computes the vectors of the capability bank that come with the toolkit.

    python tools/bank_vectors.py

Needs the extra `semantic`. To be run whenever the bank changes.
"""

from __future__ import annotations

import sys

from discovercall.foundation.files import write_atomic
from discovercall.gateway.bank import default_bank
from discovercall.gateway.bank_vectors import pack, vectors_path
from discovercall.gateway.encoder import MiniLmEncoder


def main() -> int:
    """Write the file."""
    encoder, bank = MiniLmEncoder(), default_bank()
    texts = [text for archetype in bank.archetypes for text in archetype.texts]
    write_atomic(vectors_path(), pack(bank, encoder.identity, encoder.encode(texts)), mode=0o644)
    print(f"{len(texts)} texts: {vectors_path()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
