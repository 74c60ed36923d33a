"""Writes a tiny random llama-architecture GGUF with a byte-level BPE vocabulary.

    python tiny_model.py OUT.gguf

The weights are random, but for one constant hidden dimension that works as a bias per token: JSON's closing
marks and the end of text are likely, so that constrained answers end soon and many strings have one letter.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

gguf: Any = importlib.import_module("gguf")  # by name, for type checkers may run without it

CONTEXT, WIDTH, LAYERS, HEADS, INNER = 32768, 64, 2, 2, 128
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
LIKELY = {'"': 6.2, "}": 2.6, "]": 2.6, "<|endoftext|>": -3.0, "<|im_start|>": -3.0, "<|im_end|>": 2.0}
TEMPLATE = """\
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""


def byte_characters() -> list[str]:
    """GPT-2's printable stand-in for each byte."""
    keep = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    spare = iter(range(0x100, 0x200))
    return [chr(byte) if byte in keep else chr(next(spare)) for byte in range(256)]


def write_model(path: str, seed: int = 0) -> None:
    """Write the model; the same bytes for the same seed."""
    random = np.random.default_rng(seed)
    characters = byte_characters()
    tokens = [*characters, "tr", *SPECIAL]  # a BPE vocabulary needs one merge at least

    def weights(*shape: int) -> Any:
        return random.normal(0, shape[-1] ** -0.5, shape).astype(np.float32)

    embedding, output = weights(len(tokens), WIDTH), weights(len(tokens), WIDTH)
    embedding[:, 0], output[:, 0] = 1, -1
    for byte in range(256):  # never beyond ASCII unless the grammar demands it
        if not 0x20 <= byte < 0x7F:
            output[tokens.index(characters[byte]), 0] = -3 if byte < 0x80 else -20
    for letter in "eE":  # nor exponents, whose numbers would be beyond every double
        output[tokens.index(letter), 0] = -20
    for text, bias in LIKELY.items():
        output[tokens.index(text), 0] = bias

    writer = gguf.GGUFWriter(path, "llama")
    _describe(writer, tokens)
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    writer.add_tensor("output.weight", output)
    for layer in range(LAYERS):
        for name, shape in {
            "attn_q": (WIDTH, WIDTH),
            "attn_k": (WIDTH, WIDTH),
            "attn_v": (WIDTH, WIDTH),
            "attn_output": (WIDTH, WIDTH),
            "ffn_gate": (INNER, WIDTH),
            "ffn_up": (INNER, WIDTH),
            "ffn_down": (WIDTH, INNER),
        }.items():
            value = weights(*shape)
            if name in ("attn_output", "ffn_down"):
                value[0] = 0  # adds nothing to the constant dimension
            writer.add_tensor(f"blk.{layer}.{name}.weight", value)
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", np.ones(WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _describe(writer: Any, tokens: list[str]) -> None:
    kinds = [gguf.TokenType.CONTROL if token in SPECIAL else gguf.TokenType.NORMAL for token in tokens]
    writer.add_name("tiny-random")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(["t r"])
    writer.add_bos_token_id(tokens.index("<|endoftext|>"))
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_pad_token_id(tokens.index("<|endoftext|>"))
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)


if __name__ == "__main__":
    write_model(sys.argv[1])
