"""Token formats as data: what vendors document about the shape of the secrets they hand out.

A row is (vendor, RE2 pattern of the whole token). A token counts only where a word begins. RE2 is linear in the text
whatever the pattern, so a token has no greatest length. To add
one, add a row, and an example to tests/redaction/examples.py.
"""

from __future__ import annotations

from typing import NamedTuple


class Format(NamedTuple):
    vendor: str
    pattern: str


_WORD, _LINE = r"[A-Za-z0-9]", r"[A-Za-z0-9_-]"  # what tokens are mostly made of

FORMATS = (
    # Models and machine learning
    Format("Hugging Face", rf"hf_{_WORD}{{16,}}"),
    Format("Hugging Face organisation", rf"api_org_{_WORD}{{16,}}"),
    Format("OpenAI, Anthropic, OpenRouter and others", rf"sk-{_LINE}{{12,}}"),
    Format("Groq", rf"gsk_{_WORD}{{16,}}"),
    Format("xAI", rf"xai-{_WORD}{{20,}}"),
    Format("Perplexity", rf"pplx-{_WORD}{{20,}}"),
    Format("NVIDIA", rf"nvapi-{_LINE}{{16,}}"),
    Format("Weights & Biases", rf"wandb_v1_{_LINE}{{20,}}"),
    Format("Replicate", rf"r8_{_WORD}{{20,}}"),
    Format("Kaggle", rf"KGAT_{_WORD}{{20,}}"),
    Format("LangSmith", r"lsv2_(?:pt|sk)_[A-Za-z0-9_]{20,}"),
    Format("Pinecone", rf"pcsk_{_LINE}{{20,}}"),
    Format("Jina", rf"jina_{_LINE}{{30,}}"),
    Format("Tavily", rf"tvly-{_LINE}{{16,}}"),
    Format("RunPod", r"rpa_[A-Za-z0-9]{30,}"),
    Format("Databricks", r"dapi[0-9a-f]{32}(?:-\d)?"),
    Format("Databricks OAuth", r"dose[0-9a-f]{32}"),
    Format("Prefect", r"pn[ub]_[A-Za-z0-9]{36}"),
    Format("Fireworks", rf"fw_{_WORD}{{20,}}"),
    Format("Voyage", rf"pa-{_LINE}{{40,}}"),
    Format("Modal", rf"a[ks]-{_WORD}{{22}}\b"),
    Format("Lambda", rf"secret_[a-z0-9-]{{1,40}}_[0-9a-f]{{32}}\.{_WORD}{{32}}"),
    # Code and packages
    Format("GitHub", rf"gh[pousr]_{_WORD}{{12,}}"),
    Format("GitHub, fine-grained", r"github_pat_[A-Za-z0-9_]{12,}"),
    Format("GitLab", rf"gl(?:pat|dt|ft|ffct|soat|rt|cbt|imt|ptt|agent|oas)-{_LINE}{{12,}}"),
    Format("GitLab runner", rf"GR1348941{_LINE}{{20,}}"),
    Format("PyPI", rf"pypi-Ag{_LINE}{{12,}}"),
    Format("npm", rf"npm_{_WORD}{{30,}}"),
    Format("RubyGems", r"rubygems_[0-9a-f]{40,}"),
    Format("Docker Hub", rf"dckr_(?:pat|oat)_{_LINE}{{20,}}"),
    Format("Artifactory", rf"AKC[a-z0-9]{_WORD}{{50,}}"),
    Format("Atlassian", rf"ATATT3{_LINE}{{20,}}=?{_WORD}{{0,}}"),
    Format("Linear", rf"lin_(?:api|oauth)_{_WORD}{{30,}}"),
    Format("Notion", rf"ntn_{_WORD}{{30,}}"),
    Format("Notion, before 2024", rf"secret_{_WORD}{{43}}\b"),
    Format("Postman", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    Format("Buildkite", r"bkua_[0-9a-f]{40}"),
    Format("CircleCI", rf"CCI(?:PAT|PRJ)_{_WORD}{{10,}}_[0-9a-f]{{40}}"),
    Format("SonarQube", r"sq[apu]_[0-9a-f]{40}"),
    Format("Figma", rf"fig[a-z]{{1,2}}_{_LINE}{{30,}}"),
    Format("Airtable", rf"pat{_WORD}{{14}}\.[0-9a-f]{{64}}"),
    Format("Asana", r"\d/\d{13,20}:[0-9a-f]{32}"),
    Format("Contentful", rf"CFPAT-{_LINE}{{40,}}"),
    Format("Netlify", rf"nf[a-z]_{_WORD}{{36}}\b"),
    Format("1Password", rf"ops_eyJ{_LINE}{{100,}}"),
    Format("Sentry", r"sntry[su]_[A-Za-z0-9+/=_-]{30,}"),
    # Clouds and machines
    Format("AWS key id", r"A(?:KIA|SIA|BIA|CCA|3T[A-Z0-9])[A-Z0-9]{12,20}\b"),
    Format("Google API key", rf"AIza{_LINE}{{30,}}"),
    Format("Google OAuth", r"ya29\.[A-Za-z0-9._-]{20,}"),
    Format("Google OAuth client", rf"GOCSPX-{_LINE}{{20,}}"),
    Format("Google refresh token", rf"1//0{_LINE}{{40,}}"),
    Format("Azure client secret", r"[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),
    Format("Azure storage", r"AccountKey=[A-Za-z0-9+/=]{40,}"),
    Format("DigitalOcean", r"do[opr]_v1_[0-9a-f]{32,}"),
    Format("HashiCorp Vault", rf"hv[sbr]\.{_LINE}{{20,}}"),
    Format("HashiCorp Vault, before 1.10", rf"s\.{_WORD}{{24}}\b"),
    Format("Cloudflare origin CA", r"v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}"),
    Format("Pulumi", r"pul-[0-9a-f]{40}"),
    Format("Terraform Cloud", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}"),
    Format("Tailscale", rf"tskey-{_LINE}{{16,}}"),
    Format("Fly.io", r"fm2_[A-Za-z0-9+/=]{40,}"),
    Format("Heroku", rf"HRKU-{_LINE}{{30,}}"),
    Format("PlanetScale", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{30,}"),
    Format("Supabase", r"sbp_[0-9a-f]{40}"),
    Format("Grafana", r"gl(?:sa|c)_[A-Za-z0-9+/=_]{32,}"),
    Format("New Relic", r"NRAK-[A-Z0-9]{27}"),
    Format("Doppler", rf"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{{2,}}\.)?{_WORD}{{40,}}"),
    Format("age", r"AGE-SECRET-KEY-1[A-Z0-9]{20,}"),
    # Messages, mail and money
    Format("Slack", r"xox[a-z][.-][A-Za-z0-9._%+/=-]{8,}"),
    Format("Slack app", rf"xapp-{_LINE}{{20,}}"),
    Format("Slack webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_]{8,}"),
    Format("Discord webhook", r"discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/\d{5,25}/[A-Za-z0-9_-]{8,}"),
    Format("Discord bot", r"[MNO][A-Za-z\d_-]{23,}\.[A-Za-z\d_-]{6}\.[A-Za-z\d_-]{27,}"),
    Format("Telegram bot", r"(?:bot)?\d{8,11}:[A-Za-z0-9_-]{34,}"),
    Format("Teams webhook", r"[a-z0-9-]{1,}\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/_-]{20,}"),
    Format("SendGrid", rf"SG\.{_LINE}{{16,}}\.{_LINE}{{16,}}"),
    Format("Mailgun", r"key-[0-9a-f]{32}"),
    Format("Mailgun, new", r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b"),
    Format("HubSpot", r"pat-[a-z]{2}\d-[0-9a-f]{8}-[0-9a-f-]{27}"),
    Format("Dropbox", rf"sl\.(?:u\.)?{_LINE}{{100,}}"),
    Format("Mapbox", rf"[st]k\.eyJ{_LINE}{{20,}}\.{_LINE}{{15,}}"),
    Format("Mailchimp", r"[0-9a-f]{32}-us\d{1,2}"),
    Format("Brevo", rf"xkeysib-{_LINE}{{40,}}"),
    Format("Twilio", r"SK[0-9a-f]{32}"),
    Format("Stripe", rf"[rs]k_(?:live|test)_{_WORD}{{12,}}"),
    Format("Stripe webhook", r"whsec_[A-Za-z0-9+/=]{20,}"),
    Format("Square", rf"sq0[a-z]{{3}}-{_LINE}{{22,}}"),
    Format("Shopify", r"shp(?:at|ss|ca|pa)_[0-9a-fA-F]{32}"),
    # Whatever signs with it
    Format("JSON Web Token", rf"eyJ{_LINE}{{10,}}\.{_LINE}{{5,}}\.{_LINE}{{5,}}"),
    Format("JSON Web Token, encrypted", rf"eyJ{_LINE}{{10,}}\.\.{_LINE}{{5,}}\.{_LINE}{{5,}}"),
    Format("PuTTY key", r"Private-Lines: \d+(?s:.*?)(?:Private-MAC|\z)"),
)
