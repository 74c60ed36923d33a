"""The value scan finds every planted secret in every form, and nothing in what is public by right."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discovercall import sanitize_records
from discovercall.foundation.errors import RefusedError
from discovercall.publication.key_shapes import KEY_SHAPES
from discovercall.publication.secret_scan import MIN_SECRET, SecretScanner, views
from tests.publication.runs import KEY, ROOT, policy_json, private_run, task_set

WORD = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"
BASE32 = string.ascii_uppercase + "234567"
DIGITS = string.digits

# Made of parts, so that no key-shaped text lies in the repository: literals, and (alphabet, length).
EXAMPLES: list[tuple[str, list[Any]]] = [
    ("OpenAI project", ["sk-proj-", (WORD, 48)]),
    ("OpenAI", ["sk-", (WORD, 20), "T3Blbk", "FJ", (WORD, 20)]),
    ("Anthropic", ["sk-ant-", "api03-", (WORD, 86), "-", (WORD, 8)]),
    ("OpenRouter", ["sk-or-", "v1-", (HEX, 64)]),
    ("Langfuse", ["sk-lf-", (HEX, 8), "-", (HEX, 4), "-", (HEX, 4), "-", (HEX, 4), "-", (HEX, 12)]),
    ("sk- (OpenAI, DeepSeek and others)", ["sk-", "7", (HEX, 31)]),
    ("Google API", ["AI", "za", (WORD, 35)]),
    ("Google OAuth client", ["GOC", "SPX-", (WORD, 28)]),
    ("Google OAuth token", ["ya2", "9.", (WORD, 60)]),
    ("AWS access key", ["AK", "IA", (BASE32, 16)]),
    ("AWS Bedrock", ["ABSKQm", "Vkcm9ja", (WORD, 60)]),
    ("Azure storage", ["Account", "Key=", (WORD, 86), "=="]),
    ("Azure client secret", [(WORD, 3), "8Q~", (WORD, 34)]),
    ("GitHub", ["gh", "p_", (WORD, 36)]),
    ("GitHub", ["gh", "s_", (WORD, 36)]),
    ("GitHub fine-grained", ["github", "_pat_", (WORD, 22), "_", (WORD, 59)]),
    ("GitLab", ["gl", "pat-", (WORD, 20)]),
    ("Slack token", ["xo", "xb-", (DIGITS, 12), "-", (DIGITS, 12), "-", (WORD, 24)]),
    ("Slack app", ["xa", "pp-1-", (UPPER, 11), "-", (DIGITS, 13), "-", (HEX, 64)]),
    (
        "Slack webhook",
        ["https://hooks.", "slack.com/services/T", (UPPER, 8), "/B", (UPPER, 8), "/", (WORD, 24)],
    ),
    ("Discord webhook", ["https://discord", ".com/api/webhooks/", (DIGITS, 18), "/", (WORD, 68)]),
    ("Discord bot", ["M", (WORD, 25), ".", (WORD, 6), ".", (WORD, 38)]),
    ("Telegram bot", [(DIGITS, 10), ":A", "A", (WORD, 33)]),
    ("Stripe", ["sk_", "live_", (WORD, 24)]),
    ("Stripe webhook", ["whs", "ec_", (WORD, 32)]),
    ("Square", ["sq0", "csp-", (WORD, 43)]),
    ("Shopify", ["shp", "at_", (HEX, 32)]),
    ("PayPal Braintree", ["access_", "token$production$", (LOWER, 16), "$", (HEX, 32)]),
    ("Twilio", ["S", "K", (HEX, 32)]),
    ("SendGrid", ["S", "G.", (WORD, 22), ".", (WORD, 43)]),
    ("Mailgun", ["ke", "y-", (HEX, 32)]),
    ("Mailchimp", [(HEX, 32), "-u", "s14"]),
    ("npm", ["np", "m_", (WORD, 36)]),
    ("PyPI", ["py", "pi-", (WORD, 120)]),
    ("RubyGems", ["ruby", "gems_", (HEX, 48)]),
    ("crates.io", ["ci", "o", (WORD, 32)]),
    ("NuGet", ["oy", "2", (LOWER, 43)]),
    ("Docker Hub", ["dckr", "_pat_", (WORD, 27)]),
    ("Hugging Face", ["h", "f_", (WORD, 34)]),
    ("Groq", ["gs", "k_", (WORD, 52)]),
    ("Replicate", ["r", "8_", (WORD, 37)]),
    ("xAI", ["xa", "i-", (WORD, 80)]),
    ("Perplexity", ["ppl", "x-", (WORD, 48)]),
    ("Fireworks", ["f", "w_", (WORD, 24)]),
    ("Cerebras", ["cs", "k-", (LOWER, 48)]),
    ("NVIDIA", ["nv", "api-", (WORD, 64)]),
    ("Tavily", ["tv", "ly-", (WORD, 32)]),
    ("Pinecone", ["pc", "sk_", (WORD, 68)]),
    ("LangSmith", ["lsv", "2_pt_", (HEX, 32), "_", (HEX, 10)]),
    ("Firecrawl", ["f", "c-", (HEX, 32)]),
    ("DigitalOcean", ["do", "p_v1_", (HEX, 64)]),
    ("Cloudflare origin CA", ["v1", ".0-", (HEX, 24), "-", (HEX, 146)]),
    ("Heroku", ["HR", "KU-", (WORD, 60)]),
    ("Netlify", ["nf", "p_", (WORD, 36)]),
    ("Fly.io", ["fo", "1_", (WORD, 43)]),
    ("Databricks", ["da", "pi", (HEX, 32)]),
    ("Supabase", ["sb", "p_", (HEX, 40)]),
    ("PlanetScale", ["psc", "ale_tkn_", (WORD, 43)]),
    ("Vault", ["hv", "s.", (WORD, 90)]),
    ("Terraform Cloud", [(WORD, 14), ".atlas", "v1.", (WORD, 67)]),
    ("Doppler", ["dp", ".pt.", (WORD, 43)]),
    ("Pulumi", ["pu", "l-", (HEX, 40)]),
    ("1Password", ["ops", "_eyJ", (WORD, 250)]),
    ("Atlassian", ["ATA", "TT3", (WORD, 186)]),
    ("Linear", ["lin", "_api_", (WORD, 40)]),
    ("Notion", ["nt", "n_", (WORD, 46)]),
    ("Airtable", ["pa", "t", (WORD, 14), ".", (HEX, 64)]),
    ("Figma", ["fig", "d_", (WORD, 40)]),
    ("Postman", ["PM", "AK-", (HEX, 24), "-", (HEX, 34)]),
    ("New Relic", ["NR", "AK-", (UPPER, 27)]),
    ("Grafana", ["gl", "sa_", (WORD, 32), "_", (HEX, 8)]),
    ("Sentry", ["sn", "trys_", (WORD, 120)]),
    ("Dropbox", ["s", "l.", (WORD, 140)]),
    ("Facebook", ["EA", "A", (WORD, 160)]),
    ("age", ["AGE-", "SECRET-KEY-1", (BASE32, 58)]),
    ("private key", ["-----BEGIN ", "OPENSSH PRIVATE", " KEY-----", (WORD, 64)]),
    ("JSON Web Token", ["ey", "J", (WORD, 33), ".ey", "J", (WORD, 60), ".", (WORD, 43)]),
    ("authorization header", ["Author", "ization: Bea", "rer ", (WORD, 40)]),
    ("URL with a password", ["postgres://", "user:", (WORD, 20), "@db.example/x"]),
]
OWN_SECRETS = [
    "catalog-key-5f2c9a71",
    'quoted"and\\slashed/key',
    "spaced out & punctuated = 100%",
    "schlüssel-für-die-katze",
    "first line of a key\nsecond line of it",
    "a" * MIN_SECRET + "-b",
]


def example(parts: list[Any], seed: int = 0) -> str:
    source = random.Random(f"{seed}{parts}")
    return "".join(
        part if isinstance(part, str) else "".join(source.choice(part[0]) for _ in range(part[1]))
        for part in parts
    )


def forms(secret: str) -> Iterator[tuple[str, str]]:
    """A secret in each form in which it could get out, as name and text."""
    raw = secret.encode()
    yield "plain", secret
    yield "URL-encoded", quote(secret, safe="")
    yield "URL-encoded in full", "".join(f"%{byte:02x}" for byte in raw)
    yield "URL-encoded twice", quote(quote(secret, safe=""), safe="")
    for pad in range(3):
        yield f"base64 at {pad}", base64.b64encode(b"\0\xff\x10"[:pad] + raw + b"\x07").decode()
        yield f"base64 of text at {pad}", base64.b64encode(b"x=:"[:pad] + raw).decode().rstrip("=")
        yield f"URL-safe base64 at {pad}", base64.urlsafe_b64encode(b"???"[:pad] + raw).decode()
    yield "hex", raw.hex()
    yield "upper-case hex", raw.hex().upper()
    yield "hex, shifted", "a" + raw.hex()
    yield "hex with separators", raw.hex(":")
    yield "JSON-escaped", json.dumps(secret)[1:-1]
    yield "JSON-escaped in full", "".join(f"\\u{unit:04x}" for unit in _units(secret))
    middle = len(secret) // 2
    for name, wrap in (
        ("a line break", "\n"),
        ("CRLF", "\r\n"),
        ("a continued line", "\\\n"),
        ("an indent", "\n    "),
    ):
        yield f"split by {name}", secret[:middle] + wrap + secret[middle:]
    yield "split by an escaped line break", json.dumps(secret[:middle] + "\n" + secret[middle:])[1:-1]
    yield "split by an encoded line break", quote(secret[:middle]) + "%0A" + quote(secret[middle:])
    wrapped = base64.b64encode(raw).decode()
    yield "base64, wrapped", "\n".join(wrapped[at : at + 10] for at in range(0, len(wrapped), 10))
    yield "base64, URL-encoded", quote(base64.b64encode(b"\0" + raw).decode(), safe="")
    yield "hex, split by a line break", raw.hex()[:15] + "\n" + raw.hex()[15:]


def _units(text: str) -> list[int]:
    data = text.encode("utf-16-be")
    return [int.from_bytes(data[at : at + 2]) for at in range(0, len(data), 2)]


SETTINGS = ("{}", "build {} of today", "({})", "revision={}")


def test_every_shape_has_an_example_and_there_are_well_over_thirty() -> None:
    assert {provider for provider, _ in EXAMPLES} == {shape.provider for shape in KEY_SHAPES}
    assert len(KEY_SHAPES) >= 60


@pytest.mark.parametrize(("provider", "parts"), EXAMPLES, ids=[p for p, _ in EXAMPLES])
def test_keys_are_found_by_shape_in_every_form(provider: str, parts: list[Any]) -> None:
    scanner = SecretScanner(shapes=True)
    missed = [
        (form, frame)
        for seed in range(2)
        for form, text in forms(example(parts, seed))
        for frame in SETTINGS
        if not scanner.finds(frame.format(text))
    ]
    assert not missed
    assert provider in str(scanner.finds(example(parts))) or "sk-" in example(parts)


@pytest.mark.parametrize("secret", OWN_SECRETS)
@pytest.mark.parametrize("shapes", [True, False])
def test_the_runs_own_secrets_are_found_in_every_form(secret: str, shapes: bool) -> None:
    scanner = SecretScanner([secret], shapes=shapes)
    missed = [
        (form, frame)
        for form, text in forms(secret)
        for frame in SETTINGS
        if not scanner.finds(frame.format(text))
    ]
    assert not missed


@pytest.mark.parametrize("secret", ["7000\t00\x0c\\k", "7000000\\\x85k"])
def test_a_secret_with_breaks_of_its_own_is_found_in_continued_lines(secret: str) -> None:
    scanner = SecretScanner([secret], shapes=False)
    assert not [form for form, text in forms(secret) if not scanner.finds(text)]


@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=MIN_SECRET, max_size=60), st.randoms())
def test_any_secret_is_found_in_every_form(secret: str, source: random.Random) -> None:
    secret = f"7{secret}k".replace("\n", "n").replace("\r", "r")
    scanner = SecretScanner([secret], shapes=False)
    chosen = source.sample(list(forms(secret)), 6)
    assert not [form for form, text in chosen if not scanner.finds(text)]


def test_short_values_are_no_secrets() -> None:
    assert not SecretScanner(["", " ", "linux", "x" * (MIN_SECRET - 1)], shapes=False).finds(
        "linux " + "x" * 20
    )


def test_the_place_is_named_and_the_secret_is_not() -> None:
    scanner = SecretScanner(["catalog-key-5f2c9a71"], shapes=True)
    with pytest.raises(RefusedError) as error:
        scanner.check({"a": [{"b": "catalog-key-5f2c9a71"}]}, "records[3]")
    assert "records[3].a[0].b" in str(error.value)
    assert "5f2c9a71" not in str(error.value)
    with pytest.raises(RefusedError, match="name holds"):
        scanner.check({"catalog-key-5f2c9a71": 1}, "records[3]")


def test_views_are_bounded() -> None:
    assert sum(1 for _ in views("%25" * 3000 + "\\u0041" * 3000 + "a" * 3000)) <= 400


# --- no false alarm ---

NAMES = [
    *(
        "gpt-5.6-sol",
        "claude-opus-4-5-20251101",
        "gemini-3.1-pro-preview",
        "Qwen/Qwen3-235B-A22B-Instruct-2507",
    ),
    *("deepseek-v3.2-exp", "openai/gpt-oss-120b", "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8"),
    *("mistral-large-2512", "kimi-k2-0905-preview", "sonnet", "grok-4-fast-reasoning", "o5-mini-2026-08-07"),
    *(
        "accounts/fireworks/models/glm-4p6",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "ft:gpt-4o:acme::9aB3dEfG",
    ),
    *("codex-cli-0.144.1/medium", "claude-code-2.1.3/high", "v20.20.2", "darwin", "arm64", "3.14.0rc2"),
    *(
        "bert-base-uncased@86b5e0934494bd15c9632b12f734a8a67f723594",
        "sha256:9f86d081884c7d659a2feaa0c55ad015",
    ),
    *(
        "risk-assessment-of-the-quarterly-report-2026",
        "ask-the-documentation-for-version-12",
        "disk-usage-alerts",
    ),
    *("task-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "monkey-9f86d081884c7d659a2feaa0c55ad015"),
    *(
        "api_sports.standings.list.v1.39568ba4",
        "financialmodelingprep.stable.industryclassificationsearch.v1.177b5bc2",
    ),
    *(
        "https://qveris.ai/api/v1",
        "sandbox://embedded",
        "http://127.0.0.1:8765/api/v1",
        "mixed:2026-07-23.2,2026-08-13.1",
    ),
    *(
        "basic understanding required here",
        "bearer of bad news",
        "weather-london",
        "上海天气预报查询服务",
        "größe-übersicht",
    ),
]


def random_records(count: int) -> Iterator[dict[str, Any]]:
    source = random.Random(20261130)
    for number in range(count):
        digest = hashlib.sha256(str(number).encode()).hexdigest()
        commit = f"{source.getrandbits(160):040x}"
        day, hour = f"2026-{source.randint(1, 12):02d}-{source.randint(1, 28):02d}", source.randint(0, 23)
        stamp = f"{day}T{hour:02d}:07:{number % 60:02d}.{number % 1000:03d}Z"
        yield {
            "run_id": str(uuid.UUID(int=source.getrandbits(128), version=4)),
            "model": source.choice(NAMES),
            "metadata": {
                "model_revision": source.choice([*NAMES, commit, f"snapshot-{stamp}", digest[:12]]),
                "adapter_revision": f"{commit}/{source.choice(NAMES)}",
                "toolkit_revision": commit,
                "task_set_sha256": digest,
                "api_revision": f"2026-{number % 12 + 1:02d}-01.{number % 9}",
                "catalog_revision": source.choice(
                    ["unreported", digest[:16], base64.b64encode(source.randbytes(9)).decode()]
                ),
                "runtime": {"python": "3.11.7", "platform": "linux", "arch": "x86_64"},
            },
            "started_at": stamp,
            "selection": {"tool_id": None, "tool_id_sha256": f"{source.getrandbits(256):064x}"},
            "discovery": {"snapshot_sha256": f"{source.getrandbits(256):064x}"},
        }


def check_all(records: Iterator[dict[str, Any]]) -> None:
    scanner = SecretScanner(OWN_SECRETS, shapes=True)
    for number, record in enumerate(records):
        scanner.check(record, f"records[{number}]")


def test_random_records_raise_no_alarm() -> None:
    check_all(random_records(500))


@pytest.mark.slow
def test_ten_thousand_random_records_raise_no_alarm() -> None:
    check_all(random_records(10_000))


def committed() -> list[Path]:
    return sorted(
        path
        for folder in ("results", "tasks")
        for pattern in ("*.runs.jsonl", "*.summary.json", "v*.jsonl")
        for path in (ROOT / folder).rglob(pattern)
    )


@pytest.mark.parametrize("path", committed(), ids=lambda path: path.name)
def test_committed_files_raise_no_alarm(path: Path) -> None:
    texts = [path.read_text("utf-8")] if path.suffix == ".json" else path.read_text("utf-8").splitlines()
    check_all({"line": json.loads(text)} for text in texts)


def test_a_sanitized_run_raises_no_alarm_and_a_planted_key_does() -> None:
    github = example(["gh", "p_", (WORD, 36)])
    private = private_run(trials=1)
    assert sanitize_records(private, policy_json(2), task_set().raw, key=KEY)
    for form, text in forms(github):
        if any(character in text for character in "\r\n"):
            continue  # no safe text has line breaks
        for record in private:
            record["metadata"]["model_revision"] = text[:256]
        with pytest.raises(RefusedError, match="model_revision"):
            sanitize_records(private, policy_json(2), task_set().raw, key=KEY)
        assert form


def test_a_text_that_one_scan_found_clean_is_searched_again_for_secrets() -> None:
    text = "a text of hushhush and nothing else"
    assert SecretScanner(shapes=True).finds(text) is None
    assert SecretScanner(["hushhush"], shapes=True).finds(text) == "a secret of this run"
    assert SecretScanner(shapes=True).finds(text) is None
