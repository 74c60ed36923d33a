from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovercall.adapter.environment import (
    adapter_environment,
    check_requested_names,
    is_blocked,
    strip_blocked,
)
from discovercall.foundation.errors import InputError

PASSING = ["PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"]
PASSING += ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"]
KEPT_BACK = ["AWS_SECRET_ACCESS_KEY", "MY_QVERIS_KEY", "DOCKER_HOST", "TWINE_PASSWORD", "GH_ENTERPRISE_TOKEN"]
KEPT_BACK += ["LD_PRELOAD", "NODE_OPTIONS", "PYTHONPATH", "LCX", "path", "OPENAI_API_KEY"]
BLOCKED = ["QVERIS_API_KEY", "qveris_base_url", "ACTIONS_RUNTIME_TOKEN", "GITHUB_TOKEN", "RUNNER_TEMP"]
BLOCKED += ["INPUT_API-KEY", "Input_x", "BENCHMARK_PR_TOKEN", "GH_TOKEN", "gh_token", "NODE_AUTH_TOKEN"]
BLOCKED += ["NPM_TOKEN", "PYPI_API_TOKEN", "DISCOVERCALL_PUBLICATION_KEY"]


def test_only_the_allow_list_passes():
    source = dict.fromkeys([*PASSING, *KEPT_BACK, *BLOCKED], "value")
    assert sorted(adapter_environment(source, (), ())) == sorted(PASSING)


def test_declared_and_requested_names_pass():
    source = dict.fromkeys([*PASSING, *KEPT_BACK], "value")
    passed = adapter_environment(source, ["OPENAI_API_KEY", "UNSET"], ["PYTHONPATH"])
    assert set(passed) - set(PASSING) == {"OPENAI_API_KEY", "PYTHONPATH"}


@pytest.mark.parametrize("name", BLOCKED)
def test_blocked_names_never_pass(name):
    assert adapter_environment({name: "secret"}, [name], [name]) == {}
    assert strip_blocked({name: "secret", "PATH": "/bin"}) == {"PATH": "/bin"}
    with pytest.raises(InputError, match="never passed"):
        check_requested_names(["HOME", name])


@pytest.mark.parametrize("name", ["", "A=B", "A\0B", " A", "A\n"])
def test_text_that_is_no_name_is_refused(name):
    with pytest.raises(InputError, match="not the name"):
        check_requested_names([name])


def test_requested_names_are_given_once():
    assert check_requested_names(["A", "B", "A"]) == ("A", "B")


PREFIXES = st.sampled_from(
    ["QVERIS_", "qveris_", "Actions_", "GITHUB_", "runner_", "INPUT_", "GH_TOKEN", "LC_", "", "X"]
)
ENVIRONMENTS = st.dictionaries(st.builds(str.__add__, PREFIXES, st.text(max_size=6)), st.text(max_size=3))


@given(ENVIRONMENTS, st.data())
def test_no_blocked_name_passes_whatever_is_declared_or_requested(source, data):
    names = st.lists(st.sampled_from(sorted(source)) if source else st.text())
    passed = adapter_environment(source, data.draw(names), data.draw(names))
    assert passed.items() <= source.items()
    for name in passed:
        assert not is_blocked(name)
        assert not name.upper().startswith(("QVERIS_", "ACTIONS_", "GITHUB_", "RUNNER_", "INPUT_"))
