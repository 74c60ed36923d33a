"""What keys of well-known providers look like.

A shape has no rule for what follows it, and a guard on what precedes it only where ordinary words end like
its prefix ("task-…"). The guard is left out in text that was decoded from base64 or hex.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_WORD = r"(?<![0-9A-Za-z])"


class KeyShape(NamedTuple):
    """One shape.

    Args:
        provider: who issues such keys.
        hints: literals of which every such key has one; looking for these first is what makes a scan fast.
        pattern: the key.
        guard: what must not stand before it in ordinary text.
    """

    provider: str
    hints: tuple[str, ...]
    pattern: str
    guard: str = ""


KEY_SHAPES = (
    KeyShape("OpenAI project", ("sk-",), r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}"),
    KeyShape("OpenAI", ("T3BlbkFJ",), r"sk-[A-Za-z0-9]{16,}T3BlbkFJ[A-Za-z0-9]{16,}"),
    KeyShape("Anthropic", ("sk-ant-",), r"sk-ant-[a-z0-9]{2,12}-[A-Za-z0-9_-]{20,}"),
    KeyShape("OpenRouter", ("sk-or-",), r"sk-or-(?:v[0-9]-)?[A-Za-z0-9]{32,}"),
    KeyShape(
        "Langfuse", ("k-lf-",), r"[sp]k-lf-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    ),
    KeyShape("Google API", ("AIza",), r"AIza[0-9A-Za-z_-]{35}"),
    KeyShape("Google OAuth client", ("GOCSPX-",), r"GOCSPX-[A-Za-z0-9_-]{28}"),
    KeyShape("Google OAuth token", ("ya29.",), r"ya29\.[A-Za-z0-9_-]{20,}"),
    KeyShape("AWS access key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
    KeyShape(
        "AWS Bedrock",
        ("ABSKQmVkcm9ja", "bedrock-api-key-"),
        r"(?:ABSKQmVkcm9ja|bedrock-api-key-)[A-Za-z0-9+/=]{20,}",
    ),
    KeyShape("Azure storage", ("AccountKey=",), r"AccountKey=[A-Za-z0-9+/]{86}=="),
    KeyShape("Azure client secret", ("Q~",), r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    KeyShape("GitHub", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{36,}"),
    KeyShape("GitHub fine-grained", ("github_pat_",), r"github_pat_[A-Za-z0-9_]{40,}"),
    KeyShape("GitLab", ("gl",), r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas)-[A-Za-z0-9_-]{20,}"),
    KeyShape("Slack token", ("xox",), r"xox[abeoprs](?:\.xox[abp])?-[A-Za-z0-9-]{10,}"),
    KeyShape("Slack app", ("xapp-",), r"xapp-[0-9]-[A-Z0-9]+-[0-9]+-[A-Za-z0-9]+"),
    KeyShape(
        "Slack webhook",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9+/]{20,}",
    ),
    KeyShape(
        "Discord webhook",
        ("/api/webhooks/",),
        r"discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/[A-Za-z0-9_-]{60,}",
    ),
    KeyShape("Discord bot", (".",), r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),
    KeyShape("Telegram bot", (":AA",), r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    KeyShape("Stripe", ("k_live_", "k_test_", "k_prod_"), r"[spr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}"),
    KeyShape("Stripe webhook", ("whsec_",), r"whsec_[A-Za-z0-9+/=]{24,}"),
    KeyShape("Square", ("sq0",), r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}"),
    KeyShape("Shopify", ("shp",), r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    KeyShape(
        "PayPal Braintree",
        ("access_token$",),
        r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}",
    ),
    KeyShape("Twilio", ("SK",), r"SK[0-9a-f]{32}", _WORD),
    KeyShape("SendGrid", ("SG.",), r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
    KeyShape("Mailgun", ("key-",), r"key-[0-9a-f]{32}", r"(?<![a-z])"),
    KeyShape("Mailchimp", ("-us",), r"[0-9a-f]{32}-us[0-9]{1,2}"),
    KeyShape("npm", ("npm_",), r"npm_[A-Za-z0-9]{36}"),
    KeyShape("PyPI", ("pypi-",), r"pypi-[A-Za-z0-9_-]{50,}"),
    KeyShape("RubyGems", ("rubygems_",), r"rubygems_[0-9a-f]{48}"),
    KeyShape("crates.io", ("cio",), r"cio[A-Za-z0-9]{32}", _WORD),
    KeyShape("NuGet", ("oy2",), r"oy2[a-z0-9]{43}", _WORD),
    KeyShape("Docker Hub", ("dckr_",), r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    KeyShape("Hugging Face", ("hf_", "api_org_"), r"(?:hf_|api_org_)[A-Za-z0-9]{30,}", _WORD),
    KeyShape("Groq", ("gsk_",), r"gsk_[A-Za-z0-9]{40,}"),
    KeyShape("Replicate", ("r8_",), r"r8_[A-Za-z0-9]{37}", _WORD),
    KeyShape("xAI", ("xai-",), r"xai-[A-Za-z0-9]{40,}"),
    KeyShape("Perplexity", ("pplx-",), r"pplx-[A-Za-z0-9]{40,}"),
    KeyShape("Fireworks", ("fw_",), r"fw_[A-Za-z0-9]{22,}", _WORD),
    KeyShape("Cerebras", ("csk-",), r"csk-[a-z0-9]{40,}"),
    KeyShape("NVIDIA", ("nvapi-",), r"nvapi-[A-Za-z0-9_-]{40,}"),
    KeyShape("Tavily", ("tvly-",), r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{20,}"),
    KeyShape("Pinecone", ("pcsk_",), r"pcsk_[A-Za-z0-9_]{40,}"),
    KeyShape("LangSmith", ("lsv2_",), r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    KeyShape("Firecrawl", ("fc-",), r"fc-[0-9a-f]{32}", _WORD),
    KeyShape("DigitalOcean", ("_v1_",), r"do[oprt]_v1_[0-9a-f]{64}"),
    KeyShape("Cloudflare origin CA", ("v1.0-",), r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}"),
    KeyShape("Heroku", ("HRKU-",), r"HRKU-[A-Za-z0-9_-]{36,}"),
    KeyShape("Netlify", ("nfp_",), r"nfp_[A-Za-z0-9]{36}"),
    KeyShape(
        "Fly.io",
        ("fo1_", "fm1", "fm2"),
        r"(?:fo1_[A-Za-z0-9_-]{40,}|fm[12][ar]?_[A-Za-z0-9+/=]{60,})",
    ),
    KeyShape("Databricks", ("dapi",), r"dapi[0-9a-f]{32}"),
    KeyShape("Supabase", ("sbp_", "sb_secret_"), r"sb(?:p|_secret)_[A-Za-z0-9_-]{31,}"),
    KeyShape("PlanetScale", ("pscale_",), r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{32,}"),
    KeyShape("Vault", ("hvs.", "hvb.", "hvr."), r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    KeyShape("Terraform Cloud", (".atlasv1.",), r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}"),
    KeyShape("Doppler", ("dp.",), r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,}"),
    KeyShape("Pulumi", ("pul-",), r"pul-[0-9a-f]{40}"),
    KeyShape("1Password", ("ops_eyJ",), r"ops_eyJ[A-Za-z0-9_+/=-]{60,}"),
    KeyShape("Atlassian", ("ATATT3",), r"ATATT3[A-Za-z0-9_=-]{60,}"),
    KeyShape("Linear", ("lin_",), r"lin_(?:api|oauth)_[A-Za-z0-9]{40,}"),
    KeyShape("Notion", ("ntn_", "secret_"), r"(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})"),
    KeyShape("Airtable", ("pat",), r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    KeyShape("Figma", ("figd_",), r"figd_[A-Za-z0-9_-]{40,}"),
    KeyShape("Postman", ("PMAK-",), r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    KeyShape("New Relic", ("NRAK-",), r"NRAK-[A-Z0-9]{27}"),
    KeyShape(
        "Grafana", ("glsa_", "glc_"), r"(?:glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|glc_[A-Za-z0-9+/=]{32,})"
    ),
    KeyShape("Sentry", ("sntrys_", "sntryu_"), r"sntry(?:s_[A-Za-z0-9+/=_-]{40,}|u_[0-9a-f]{64})"),
    KeyShape("Dropbox", ("sl.",), r"sl\.(?:u\.)?[A-Za-z0-9_-]{130,}"),
    KeyShape("Facebook", ("EAA",), r"EAA[A-Za-z0-9]{90,}"),
    KeyShape("age", ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    KeyShape("private key", ("PRIVATE KEY",), r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY"),
    KeyShape("JSON Web Token", ("eyJ",), r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    KeyShape(
        "authorization header",
        ("earer", "EARER", "asic", "ASIC"),
        r"(?i:bearer|basic)[ \t]+[A-Za-z0-9._~+/-]{16,}",
    ),
    KeyShape(
        "URL with a password",
        ("://",),
        r"[a-z][a-z0-9+.-]{1,20}://[^\s/:@?#]{1,64}:[^\s/@?#]{3,128}@",
    ),
    KeyShape(
        "sk- (OpenAI, DeepSeek and others)",
        ("sk-", "sk_"),
        r"sk[-_](?=[A-Za-z_]*[0-9])[A-Za-z0-9_]{20,}",
        r"(?<![a-z]{2})(?<![^A-Za-z0-9]a)(?<!^a)",
    ),
)
_GUARDED = tuple((shape, re.compile(shape.guard + shape.pattern)) for shape in KEY_SHAPES)


_MIDDLE_OF_THREE = r"\.(?:[A-Za-z0-9_-]{6}\.|atlasv1\.)"


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    """A pattern for any of the words, grouped by their first letters, which is what makes it fast.

    Full stops are everywhere, so for the shapes with these the pattern takes what stands between two.
    """
    rests: dict[str, list[str]] = {}
    for word in words:
        rests.setdefault(word[0], []).append(re.escape(word[1:]))
    del rests["."]
    groups = [f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in rests.items()]
    return re.compile("|".join([*groups, _MIDDLE_OF_THREE]))


_HINT = _any_of(hint for shape in KEY_SHAPES for hint in shape.hints)
_BARE = tuple((shape, re.compile(shape.pattern)) for shape in KEY_SHAPES)


def key_shape(text: str, *, guarded: bool) -> KeyShape | None:
    """The first shape that occurs in a text, with or without the guards of ordinary text."""
    if not _HINT.search(text):
        return None
    for shape, pattern in _GUARDED if guarded else _BARE:
        for hint in shape.hints:
            if hint in text:
                if pattern.search(text):
                    return shape
                break
    return None
