"""One decision by a model command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from discovercall.adapter.answers import fits_schema
from discovercall.adapter.authoring import Refusal
from discovercall.adapter.clis.facts import ModelCli, check_model, login_file
from discovercall.adapter.clis.options import CliOptions, check_version, locate, parse_version, read_options
from discovercall.adapter.clis.process import Interruption, run_cli
from discovercall.adapter.clis.scratch import Scratch
from discovercall.adapter.environment import adapter_environment
from discovercall.foundation.ecmascript import trim

VERSION_TIMEOUT_S = 30.0
_PASSED_ON = ("NODE_EXTRA_CA_CERTS",)
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY")


@dataclass(frozen=True, slots=True)
class Question:
    """What a command line is to put to the model.

    Attributes:
        model: full name.
        system: the system instruction.
        user: the user message.
        schema: schema of the answer.
        options: the adapter's options.
        version: the installed version.
        by_key: an API key authenticates, not a login.
    """

    model: str
    system: str
    user: str
    schema: dict[str, Any]
    options: CliOptions
    version: str
    by_key: bool


@dataclass(frozen=True, slots=True)
class Reply:
    """The model's answer, any JSON value, and what it used (`USAGE_FIELDS`; None: not reported)."""

    answer: Any
    usage: dict[str, int] | None


class Turn(Protocol):
    """One question to one command line.

    `arguments`, `variables` and `payload` say how it is started. `on_stdout` and `on_stderr` take its lines
    and raise a `Refusal` on what rules an answer out. `reply` judges what there is at the end.
    """

    def arguments(self) -> list[str]: ...

    def variables(self) -> dict[str, str]: ...

    def payload(self) -> bytes: ...

    def on_stdout(self, line: bytes) -> None: ...

    def on_stderr(self, line: bytes) -> None: ...

    def reply(self, status: int) -> Reply: ...


def decide(
    cli: ModelCli,
    turn: Callable[[Question, Scratch], Turn],
    request: dict[str, Any],
    arguments: Sequence[str],
    environment: Mapping[str, str],
) -> dict[str, Any]:
    """Put a request to the model.

    Args:
        cli: the command line.
        turn: its way of asking.
        request: a request of the adapter protocol.
        arguments: the adapter's own.
        environment: the adapter's own.

    Raises:
        Refusal: no usable answer.
    """
    options = read_options(cli, arguments)
    model = check_model(cli, request.get("model"))
    system, user = _conversation(request)
    program = locate(cli, options, environment.get("PATH"))
    key = trim(environment.get(cli.key_variable, ""))
    login = None if key else login_file(cli, environment)
    if not key and login is None:
        raise Refusal("start_failed", f"no {cli.key_variable}, and no login of {cli.name}")
    with Interruption() as interruption, Scratch() as scratch:
        variables = _variables(cli, options, environment, scratch)
        version = _installed_version(cli, program, variables, scratch, interruption)
        check_version(cli, options, version)
        if key:
            variables[cli.key_variable] = key
        elif login is not None:
            scratch.link_login(login)
        asked = turn(
            Question(model, system, user, request["response_schema"], options, version, bool(key)), scratch
        )
        status = run_cli(
            [program, *asked.arguments()],
            environment=variables | asked.variables(),
            folder=str(scratch.work),
            payload=asked.payload(),
            on_stdout=asked.on_stdout,
            on_stderr=asked.on_stderr,
            interruption=interruption,
        )
        reply = asked.reply(status)
    if not fits_schema(reply.answer, request["response_schema"]):
        raise Refusal("invalid_output", "the answer does not fit the response schema")
    answer: dict[str, Any] = reply.answer
    return answer if reply.usage is None else {**answer, "usage": reply.usage}


def _conversation(request: dict[str, Any]) -> tuple[str, str]:
    match request.get("messages"):
        case [
            {"role": "system", "content": str(system)},
            {"role": "user", "content": str(user)},
        ]:
            return system, user
    raise Refusal("start_failed", "the request has no system instruction and user message")


def _variables(
    cli: ModelCli, options: CliOptions, environment: Mapping[str, str], scratch: Scratch
) -> dict[str, str]:
    """Built from the harness's allow-list, so that no variable points a command line at another server,
    account or model, whoever starts the adapter."""
    variables = adapter_environment(environment, _PASSED_ON, ())
    if options.base_url is not None:
        variables = {name: value for name, value in variables.items() if name not in _PROXIES}
    return variables | {
        "HOME": str(scratch.home),
        "TMPDIR": str(scratch.temporary),
        cli.home_variable: str(scratch.config),
    }


def _installed_version(
    cli: ModelCli, program: str, variables: dict[str, str], scratch: Scratch, interruption: Interruption
) -> str:
    printed: list[bytes] = []
    run_cli(
        [program, "--version"],
        environment=variables,
        folder=str(scratch.work),
        payload=b"",
        on_stdout=printed.append,
        on_stderr=lambda line: None,
        interruption=interruption,
        timeout_s=VERSION_TIMEOUT_S,
    )
    return parse_version(cli, b"\n".join(printed).decode("utf-8", "replace"))
