"""What a bundled adapter will run, settled before the first request: the program behind it, its version, the
effort. Records name it as `<commit>/<name>`, or `<commit>/<cli>-<version>/<effort>`."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discovercall.adapter.bundled import BundledAdapter
from discovercall.adapter.failures import AdapterFailure
from discovercall.adapter.process import AdapterLimits, run_adapter
from discovercall.adapter.removal import remove_tree
from discovercall.foundation.errors import InputError

if TYPE_CHECKING:
    from discovercall.adapter.clis.facts import ModelCli

_VERSION_TIMEOUT_S = 30
_VERSION_LIMITS = AdapterLimits(stdout_characters=10_000, stderr_characters=10_000)


@dataclass(frozen=True, slots=True)
class AdapterIdentity:
    """A bundled adapter with its arguments, settled.

    Attributes:
        name: what stands after the commit in its revision.
        arguments: its arguments; for a model command line they hold the installed version, so that an update
            in the middle of a run fails and is not recorded under the old version.
    """

    name: str
    arguments: tuple[str, ...]

    def revision(self, toolkit_revision: str) -> str:
        """The revision as records name it."""
        return f"{toolkit_revision}/{self.name}"


def identify(
    adapter: BundledAdapter,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    model: str | None = None,
    where: str = "--adapter",
) -> AdapterIdentity:
    """Settle what an adapter will run. A model command line is looked up and asked for its version.

    Args:
        adapter: the adapter.
        arguments: those given by `--adapter-arg`.
        environment: the adapter's environment.
        model: the model's name; None where it doesn't matter.
        where: what errors name.

    Raises:
        InputError: wrong arguments, no such command line, another version than asked for, or an alias in the
            place of a full model name.
    """
    given = tuple(arguments)
    if adapter.name == "openai-compatible":
        return AdapterIdentity(f"{adapter.name}/{_chat_settings(given, environment, where)}", given)
    if adapter.model_cli is None:
        if given:
            raise InputError(f"{adapter.name} takes no arguments", where=where, fix="leave out --adapter-arg")
        return AdapterIdentity(adapter.name, given)
    from discovercall.adapter.authoring import Refusal
    from discovercall.adapter.clis.facts import MODEL_CLIS, check_model
    from discovercall.adapter.clis.options import check_version, locate, read_options

    cli = MODEL_CLIS[adapter.model_cli]
    try:
        options = read_options(cli, given)
        if model is not None:
            check_model(cli, model)
        version = installed_version(cli, locate(cli, options, environment.get("PATH")), environment)
        check_version(cli, options, version)
    except Refusal as refusal:
        raise InputError(
            f"{adapter.name}: {refusal.detail}", where=where, fix=f"see `discovercall doctor {adapter.name}`"
        ) from None
    name = model_cli_name(cli.name, version, options.effort)
    if options.base_url is not None:
        name += "/rehearsal"  # the model is a stand-in, and no record may hide that
    pinned = given if options.version else (*given, "--cli-version", version)
    return AdapterIdentity(name, pinned)


def model_cli_name(program: str, version: str, effort: str) -> str:
    """What stands after the commit in the revision of an adapter that starts a model command line."""
    return f"{program}-{version}/{effort}"


def _chat_settings(arguments: Sequence[str], environment: Mapping[str, str], where: str) -> str:
    """The settings that a chat-completions server is asked with; records settle `response_format=auto`."""
    from discovercall.adapter.authoring import Refusal
    from discovercall.adapter.chat.settings import read_settings

    if {"-h", "--help"} & set(arguments):
        raise InputError(
            "an adapter's help is no run", where=where, fix="run the adapter by hand with --help"
        )
    try:
        settings = read_settings(arguments, environment)
    except Refusal as refusal:
        raise InputError(f"openai-compatible: {refusal.detail}", where=where) from None
    parameters = [
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in settings.parameters.items()
    ]
    response_format = settings.modes[0] if len(settings.modes) == 1 else "auto"
    return "/".join([*parameters, f"response_format={response_format}"])


def installed_version(cli: ModelCli, program: str, environment: Mapping[str, str]) -> str:
    """The version that a command line says it has, asked in an empty home.

    Raises:
        Refusal: `start_failed`; it can't be started or says none.
    """
    from discovercall.adapter.authoring import Refusal
    from discovercall.adapter.clis.options import parse_version
    from discovercall.adapter.isolation import hide_memory

    hide_memory()  # a foreign program, while this process may hold the catalog key
    home = tempfile.mkdtemp(prefix="model-cli-")
    try:
        variables = {"PATH": environment.get("PATH", ""), "HOME": home, "TMPDIR": home}
        printed = _output_of([program, "--version"], variables, home)
    except AdapterFailure:
        raise Refusal("start_failed", f"{program} --version does not work") from None
    finally:
        remove_tree(home)
    return parse_version(cli, printed.decode("utf-8", "replace"))


def _output_of(command: Sequence[str], variables: Mapping[str, str], folder: str) -> bytes:
    """Standard output of a command that is held to an adapter's limits, with all that it starts.

    Raises:
        AdapterFailure: it failed or passed a limit.
    """
    outcomes: list[bytes | BaseException] = []

    def run() -> None:
        running = run_adapter(
            command, b"", env=variables, timeout_s=_VERSION_TIMEOUT_S, limits=_VERSION_LIMITS, cwd=folder
        )
        try:
            outcomes.append(asyncio.run(running).stdout)
        except BaseException as error:
            outcomes.append(error)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        run()
    else:  # a thread may run one loop only
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    outcome = outcomes[0]
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome
