import json

from tests.support.bench import assert_refused


def test_every_bundled_adapter_is_listed_with_what_it_may_see(command):
    done = command("adapters", "--format", "json")
    assert (done.code, done.err) == (0, "")
    listing = json.loads(done.out)
    adapters = {adapter["name"]: adapter for adapter in listing["adapters"]}
    assert adapters["reference"]["lane"] == "reference"
    assert adapters["reference"]["environment"] == []
    assert adapters["oracle"]["old_name_of"] == "reference"
    assert adapters["first-result"]["old_name_of"] is None
    assert {"PATH", "HOME", "SSL_CERT_FILE"} <= set(listing["allowed"])
    for adapter in adapters.values():
        assert adapter["description"]
        for name in adapter["environment"]:
            assert not name.startswith(("QVERIS_", "GITHUB_", "INPUT_", "RUNNER_", "ACTIONS_"))


def test_a_person_gets_a_table(command):
    done = command("adapters")
    assert done.code == 0
    for text in ("reference", "first-result", "old name of reference", "PATH"):
        assert text in done.out


def test_an_unknown_format_is_a_mistake_of_usage(command):
    assert_refused(command("adapters", "--format", "xml"), "--format")
