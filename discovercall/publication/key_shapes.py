"""What keys of well-known providers look like.

A shape has no rule for what follows it, and a guard on what precedes it only where ordinary words end like
its prefix ("task-…"). The guard is left out in text that was decoded from base64 or hex.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_WORD = r"(?<![0-9A-Za-z])"


class KeyShape(NamedTuple):
    """One shape: who issues such keys, their pattern, and what must not stand before one."""

    provider: str
    pattern: str
    guard: str = ""


KEY_SHAPES = (
    KeyShape("OpenAI project", r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}"),
    KeyShape("OpenAI", r"sk-[A-Za-z0-9]{16,}T3BlbkFJ[A-Za-z0-9]{16,}"),
    KeyShape("Anthropic", r"sk-ant-[a-z0-9]{2,12}-[A-Za-z0-9_-]{20,}"),
    KeyShape("OpenRouter", r"sk-or-(?:v[0-9]-)?[A-Za-z0-9]{32,}"),
    KeyShape("Langfuse", r"[sp]k-lf-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
    KeyShape(
        "sk- (OpenAI, DeepSeek and others)",
        r"sk[-_](?=[A-Za-z_]*[0-9])[A-Za-z0-9_]{20,}",
        r"(?<![a-z]{2})(?<![^A-Za-z0-9]a)(?<!^a)",
    ),
    KeyShape("Google API", r"AIza[0-9A-Za-z_-]{35}"),
    KeyShape("Google OAuth client", r"GOCSPX-[A-Za-z0-9_-]{28}"),
    KeyShape("Google OAuth token", r"ya29\.[A-Za-z0-9_-]{20,}"),
    KeyShape("AWS access key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
    KeyShape("AWS Bedrock", r"(?:ABSKQmVkcm9ja|bedrock-api-key-)[A-Za-z0-9+/=]{20,}"),
    KeyShape("Azure storage", r"AccountKey=[A-Za-z0-9+/]{86}=="),
    KeyShape("Azure client secret", r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    KeyShape("GitHub", r"gh[pousr]_[A-Za-z0-9]{36,}"),
    KeyShape("GitHub fine-grained", r"github_pat_[A-Za-z0-9_]{40,}"),
    KeyShape("GitLab", r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas)-[A-Za-z0-9_-]{20,}"),
    KeyShape("Slack token", r"xox[abeoprs](?:\.xox[abp])?-[A-Za-z0-9-]{10,}"),
    KeyShape("Slack app", r"xapp-[0-9]-[A-Z0-9]+-[0-9]+-[A-Za-z0-9]+"),
    KeyShape("Slack webhook", r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9+/]{20,}"),
    KeyShape("Discord webhook", r"discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/[A-Za-z0-9_-]{60,}"),
    KeyShape("Discord bot", r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),
    KeyShape("Telegram bot", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    KeyShape("Stripe", r"[spr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}"),
    KeyShape("Stripe webhook", r"whsec_[A-Za-z0-9+/=]{24,}"),
    KeyShape("Square", r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}"),
    KeyShape("Shopify", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    KeyShape("PayPal Braintree", r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}"),
    KeyShape("Twilio", r"SK[0-9a-f]{32}", _WORD),
    KeyShape("SendGrid", r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
    KeyShape("Mailgun", r"key-[0-9a-f]{32}", r"(?<![a-z])"),
    KeyShape("Mailchimp", r"[0-9a-f]{32}-us[0-9]{1,2}"),
    KeyShape("npm", r"npm_[A-Za-z0-9]{36}"),
    KeyShape("PyPI", r"pypi-[A-Za-z0-9_-]{50,}"),
    KeyShape("RubyGems", r"rubygems_[0-9a-f]{48}"),
    KeyShape("crates.io", r"cio[A-Za-z0-9]{32}", _WORD),
    KeyShape("NuGet", r"oy2[a-z0-9]{43}", _WORD),
    KeyShape("Docker Hub", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    KeyShape("Hugging Face", r"(?:hf_|api_org_)[A-Za-z]{30,}[A-Za-z0-9]*"),
    KeyShape("Hugging Face", r"hf_[A-Za-z0-9]{30,}", _WORD),
    KeyShape("Groq", r"gsk_[A-Za-z0-9]{40,}"),
    KeyShape("Replicate", r"r8_[A-Za-z0-9]{37}", _WORD),
    KeyShape("xAI", r"xai-[A-Za-z0-9]{40,}"),
    KeyShape("Perplexity", r"pplx-[A-Za-z0-9]{40,}"),
    KeyShape("Fireworks", r"fw_[A-Za-z0-9]{22,}", _WORD),
    KeyShape("Cerebras", r"csk-[a-z0-9]{40,}"),
    KeyShape("NVIDIA", r"nvapi-[A-Za-z0-9_-]{40,}"),
    KeyShape("Tavily", r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{20,}"),
    KeyShape("Pinecone", r"pcsk_[A-Za-z0-9_]{40,}"),
    KeyShape("LangSmith", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    KeyShape("Firecrawl", r"fc-[0-9a-f]{32}", _WORD),
    KeyShape("DigitalOcean", r"do[oprt]_v1_[0-9a-f]{64}"),
    KeyShape("Cloudflare origin CA", r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}"),
    KeyShape("Heroku", r"HRKU-[A-Za-z0-9_-]{36,}"),
    KeyShape("Netlify", r"nfp_[A-Za-z0-9]{36}"),
    KeyShape("Fly.io", r"(?:fo1_[A-Za-z0-9_-]{40,}|fm[12][ar]?_[A-Za-z0-9+/=]{60,})"),
    KeyShape("Databricks", r"dapi[0-9a-f]{32}"),
    KeyShape("Supabase", r"sb(?:p|_secret)_[A-Za-z0-9_-]{31,}"),
    KeyShape("PlanetScale", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{32,}"),
    KeyShape("Vault", r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    KeyShape("Terraform Cloud", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}"),
    KeyShape("Doppler", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,}"),
    KeyShape("Pulumi", r"pul-[0-9a-f]{40}"),
    KeyShape("1Password", r"ops_eyJ[A-Za-z0-9_+/=-]{60,}"),
    KeyShape("Atlassian", r"ATATT3[A-Za-z0-9_=-]{60,}"),
    KeyShape("Linear", r"lin_(?:api|oauth)_[A-Za-z0-9]{40,}"),
    KeyShape("Notion", r"(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})"),
    KeyShape("Airtable", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    KeyShape("Figma", r"figd_[A-Za-z0-9_-]{40,}"),
    KeyShape("Postman", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    KeyShape("New Relic", r"NRAK-[A-Z0-9]{27}"),
    KeyShape("Grafana", r"(?:glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|glc_[A-Za-z0-9+/=]{32,})"),
    KeyShape("Sentry", r"sntry(?:s_[A-Za-z0-9+/=_-]{40,}|u_[0-9a-f]{64})"),
    KeyShape("Dropbox", r"sl\.(?:u\.)?[A-Za-z0-9_-]{130,}"),
    KeyShape("Facebook", r"EAA[A-Za-z0-9]{90,}"),
    KeyShape("age", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    KeyShape("private key", r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY"),
    KeyShape("JSON Web Token", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    KeyShape("authorization header", r"(?i:bearer|basic)[ \t]+[A-Za-z0-9._~+/-]{16,}"),
    KeyShape("URL with a password", r"[a-z][a-z0-9+.-]{1,20}://[^\s/:@?#]{1,64}:[^\s/@?#]{3,128}@"),
)


def compile_shapes(*, guarded: bool) -> re.Pattern[str]:
    """One pattern for all shapes; the name of the group that matched is `s` and the shape's index."""
    return re.compile(
        "|".join(
            f"(?P<s{index}>{shape.guard if guarded else ''}{shape.pattern})"
            for index, shape in enumerate(KEY_SHAPES)
        )
    )
