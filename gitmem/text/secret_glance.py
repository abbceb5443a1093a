"""Whether a text may hold a secret at all: a glance that needs none of the rules.

To read and compile `secrets.toml` takes 25 ms, a third of what it takes to remember something. Most
texts have none of the marks at which the rules begin; only then nothing of that is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

AS_IS = (
    "0/", "1/", "2/", "A3-", "ABIA", "ABSK", "ACCA", "AGE-SECRET-KEY-1", "AIza", "AKCp", "AKIA",
    "AQVN", "ASIA", "ATATT3", "ATBB", "ATCTT3", "CCIPAT_", "CCIPRJ_", "CFPAT-", "CLOJARS_", "EAA",
    "EZAK", "EZTK", "FLWSECK-", "GOCSPX-", "GR1348941", "HRKU-", "LTAI", "MC4CAQAwBQYDK2VwBCIEI",
    "MD", "MHcCAQEEI", "MIGHAgEAMBMGByqGSM49", "MIIEogIBA", "MIIEowIBA", "MIIEpAIBA", "MIIEvAIBA",
    "MIIEvQIBA", "MIIEvgIBA", "MIIEvwIBA", "MIIJKAIBA", "MIIJKQIBA", "MIIJQgIBA", "MIIJQwIBA",
    "MIIJRAIBA", "MT", "Mj", "Mz", "ND", "NRAK-", "NRII-", "NRIQ-", "NRRA-", "NT", "Nj", "Nz",
    "OD", "OT", "PMAK-", "PMAT-", "SG.", "SK", "access-development-", "access-production-",
    "access-sandbox-", "access_token$production$", "access_token$sandbox$", "amzn.mws.", "api-",
    "api_org_", "b3BlbnNzaC1rZXktdjE", "bedrock-api-key-", "bkua_", "cfat_", "cfk_", "cfut_",
    "cio", "cmVmdGtu", "csk-", "dapi", "dckr_oat_", "dckr_pat_", "discord.com/api/webhooks/",
    "discordapp.com/api/webhooks/", "doo_v1_", "dop_v1_", "dor_v1_", "dp.audit.", "dp.ct.",
    "dp.pt.", "dp.sa.", "dp.scim.", "dp.st.", "dt0c01.", "dt0s01.", "dt0s02.", "dt0s08.",
    "dt0s16.", "e2b_", "eyJ", "fc-", "figd_", "figoh_", "figor_", "figu_", "fm1a_", "fm1r_",
    "fm2_", "fo1_", "fw_", "gho_", "ghp_", "ghr_", "ghs_", "ghu_", "github_pat_", "glagent-",
    "glc_", "glcbt-", "gldt-", "glffct-", "glft-", "glimt-", "gloas-", "glpat-", "glptt-", "glrt-",
    "glrtr-", "glsa_", "glsoat-", "glwt-", "gsk_", "hcaik_", "hcamk_", "hcbik_", "hcbmk_", "hf_",
    "hooks.slack.com/services/", "hooks.slack.com/triggers/", "hooks.slack.com/workflows/", "hvb.",
    "hvr.", "hvs.", "ico-", "key-", "lin_api_", "lin_oauth_", "lin_wh_", "lsv2_pt_", "lsv2_sk_",
    "napi_", "nfp_", "npm_", "ntn_", "nvapi-", "ops_eyJ", "oy2", "pat", "pcsk_", "phx_", "pnb_",
    "pnu_", "pplx-", "pscale_oauth_", "pscale_pw_", "pscale_tkn_", "pul-", "pypi-", "r8_", "re_",
    "rk_live_", "rk_test_", "rnd_", "rubygems_", "sat.", "sb_secret_", "sbp_", "sdk-", "secret_",
    "sgp_", "sha256~", "shippo_live_", "shippo_test_", "shpat_", "shpca_", "shppa_", "shpss_",
    "shptka_", "sig=", "sk-", "sk.eyJ", "sk_", "sl.", "sntrya_", "sntrys_", "sntryu_", "sq0atp-",
    "sq0csp-", "sqa_", "sqp_", "squ_", "tfp_", "tgp_v1_", "tskey-", "tvly-", "v1.0-", "vca_",
    "vci_", "vck_", "vcp_", "vcr_", "wandb_v1_", "webhook.office.com/webhookb2/", "whsec_", "xai-",
    "xapp-", "xkeysib-", "xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxe.", "xoxo-", "xoxp-",
    "xoxr-", "xoxs-", "xsmtpsib-", "xwfp-", "ya29.",
)  # fmt: skip
"""Marks that count as they stand."""

FOLDED = (
    '"auth"', "--", "-us", ".atlasv1.", "://", ":aa", ":apa91b", "@tcp(", "@unix(", "_auth",
    "accountkey=", "akia", "algolia", "asia", "authorization", "aws secret", "aws_secret", "azdo",
    "basic ", "bearer ", "cf_api", "client-key-data", "cloudflare", "contraseña", "credential",
    "curl", "datadog", "dd-api-key", "dd-application-key", "dd_api_key", "dd_app_key",
    "docker login", "heroku", "kennwort", "key", "ldap", "machine ", "mailgun", "mosquitto",
    "mot de passe", "mysql", "ngrok", "nral", "okta", "otpauth://", "pass", "postmark",
    "presharedkey", "privatekey", "putty-user-key-file", "pwd", "q~", "redis-cli", "secret",
    "senha", "sharedaccesskey=", "smbclient", "snyk", "sshpass", "ssws", "token", "twilio",
    "wachtwoord", "пароль", "パスワード", "令牌", "口令", "密码", "密钥", "비밀번호",
)  # fmt: skip
"""Marks that count in lower case."""

BLOCK = "PRIVATE KEY"


def may_hold(text: str) -> bool:
    """Whether the rules must be asked."""
    lower = text.lower()
    return (
        any(mark in lower for mark in FOLDED)
        or any(mark in text for mark in AS_IS)
        or BLOCK in text
    )


MANY = 30_000
"""Characters from which on it pays to compile the marks, for 5 ms: three times as fast then."""


def may_hold_each(texts: Sequence[str]) -> Iterator[bool]:
    """Yield for each text whether the rules must be asked; quick for thousands of them."""
    if sum(map(len, texts)) < MANY:
        yield from map(may_hold, texts)
        return
    as_is, folded = (re.compile(one_of(marks)).search for marks in ((*AS_IS, BLOCK), FOLDED))
    yield from (bool(folded(text.lower()) or as_is(text)) for text in texts)


Tree = dict[str, "Tree"]


def one_of(words: Iterable[str]) -> str:
    """Return the expression that matches one of some words, one branch a letter: one pass for all.

    Of words that begin alike the shortest matches.
    """
    tree: Tree = {}
    for word in words:
        node = tree
        for char in word:
            node = node.setdefault(char, {})
        node[""] = {}
    return _expression(tree)


def _expression(tree: Tree) -> str:
    if "" in tree:
        return ""
    branches = [re.escape(char) + _expression(below) for char, below in tree.items()]
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"
