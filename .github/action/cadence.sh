#!/usr/bin/env bash
# The script of action.yml: checks the inputs, gets the image, and runs one subcommand in it.
# All inputs come as environment variables IN_…; keys and tokens go on by name, never on a command line.
set -euo pipefail

die() {
  echo "::error title=Discover-call cadence::$*" >&2
  exit 2
}

need() { # INPUT...: composite actions don't enforce required inputs
  local input variable
  for input in "$@"; do
    variable=IN_${input^^}
    [[ -n ${!variable:-} ]] || die "the input ${input} is required by the command ${IN_COMMAND}"
  done
}

[[ -n ${IN_COMMAND:-} ]] || die "the input command is required"
[[ ${IN_REHEARSAL} == true || ${IN_REHEARSAL} == false ]] || die "the input rehearsal must be true or false"
[[ ${IN_RUNTIME} == container || ${IN_RUNTIME} == installed ]] || die "the input runtime must be container or installed"
root=$(cd -- "${IN_ROOT}" && pwd) || die "the input root is no folder"

scratch=$(mktemp -d "${RUNNER_TEMP}/discovercall.XXXXXXXX")
mkdir "${scratch}/exchange" "${scratch}/private"
trap 'rm -rf -- "${scratch}/exchange"' EXIT
: >"${scratch}/exchange/output"
: >"${scratch}/exchange/summary"

# In the container folders have fixed places; the installed command uses them where they are.
checkout=${root} exchange=${scratch}/exchange private=${scratch}/private bundle=${IN_BUNDLE}
if [[ ${IN_RUNTIME} == container ]]; then
  checkout=/checkout exchange=/exchange private=/private bundle=/bundle
fi

arguments=(cadence "${IN_COMMAND}")
case ${IN_COMMAND} in
  plan)
    need release_sha
    arguments+=(--release-sha "${IN_RELEASE_SHA}" --accept-spent-attempts "${IN_ACCEPT_SPENT_ATTEMPTS}")
    ;;
  guard)
    need release_sha
    arguments+=(--release-sha "${IN_RELEASE_SHA}")
    ;;
  run)
    need release_sha plan plan_digest bundle
    printf '%s' "${IN_PLAN}" >"${scratch}/exchange/plan.json"
    arguments+=(--plan "${exchange}/plan.json" --plan-digest "${IN_PLAN_DIGEST}" --private "${private}"
      --bundle "${bundle}" --accept-spent-attempts "${IN_ACCEPT_SPENT_ATTEMPTS}")
    ;;
  propose)
    need release_sha plan_digest bundle bundle_sha256
    arguments+=(--release-sha "${IN_RELEASE_SHA}" --plan-digest "${IN_PLAN_DIGEST}" --bundle "${bundle}"
      --bundle-sha256 "${IN_BUNDLE_SHA256}")
    ;;
  recover)
    need branch
    arguments+=(--branch "${IN_BRANCH}")
    ;;
  dispatch)
    need release_sha
    arguments+=(--release-sha "${IN_RELEASE_SHA}")
    ;;
  headline) arguments+=(--check) ;; # the checkout is read-only in the container, and no step commits pages
  *) die "the input command must be plan, guard, run, propose, recover, dispatch or headline" ;;
esac
arguments+=(--root "${checkout}")
if [[ ${IN_COMMAND} == guard ]]; then
  arguments=("${arguments[@]:0:${#arguments[@]}-2}") # it reads no file
fi
if [[ ${IN_REHEARSAL} == true && ${IN_COMMAND} =~ ^(plan|guard|propose|dispatch)$ ]]; then
  arguments+=(--rehearsal)
fi
if [[ -n ${IN_IMAGE} && ${IN_COMMAND} =~ ^(plan|run|propose)$ ]]; then
  arguments+=(--image "${IN_IMAGE}")
fi
if [[ ${IN_COMMAND} == dispatch && -n ${IN_IMAGE} ]]; then
  arguments+=(--input "image=${IN_IMAGE}")
fi
[[ -z ${IN_BUNDLE} ]] || mkdir -p -- "${IN_BUNDLE}"

# What each command may know. An empty value isn't passed on.
names=(GITHUB_API_URL GITHUB_REPOSITORY GITHUB_TOKEN GITHUB_RUN_ID GITHUB_RUN_ATTEMPT GITHUB_WORKFLOW_REF GITHUB_ACTIONS)
keys=(QVERIS_API_KEY CODEX_API_KEY ANTHROPIC_API_KEY)
if [[ ${IN_COMMAND} == run ]]; then
  names+=("${keys[@]}")
else
  unset "${keys[@]}"
fi
if [[ ${IN_COMMAND} =~ ^(plan|run)$ ]]; then
  names+=(QVERIS_BASE_URL) # the approval is for one catalog: plan writes it down, run compares
else
  unset QVERIS_BASE_URL
fi
for name in "${names[@]}"; do
  [[ -n ${!name:-} ]] || unset "${name}"
done

source_commit() { # the commit of the action's own sources, or nothing where they differ from it
  local commit
  if commit=$(git -C "${GITHUB_ACTION_PATH}" rev-parse HEAD 2>/dev/null); then
    [[ -n $(git -C "${GITHUB_ACTION_PATH}" status --porcelain --untracked-files=no) ]] || echo "${commit}"
  elif [[ ${GITHUB_ACTION_REF:-} =~ ^[0-9a-f]{40}$ ]]; then
    echo "${GITHUB_ACTION_REF}"
  fi
}

get_image() { # prints what docker run takes
  local target=harness
  if [[ -n ${IN_IMAGE} ]]; then
    docker image inspect "${IN_IMAGE}" >/dev/null 2>&1 || docker pull --quiet "${IN_IMAGE}" >&2
    echo "${IN_IMAGE}"
    return
  fi
  if [[ ${IN_COMMAND} == run && (${IN_REHEARSAL} == false || -n ${CODEX_API_KEY:-}${ANTHROPIC_API_KEY:-}) ]]; then
    target=harness-cli
  fi
  docker build --quiet --target "${target}" --network "${IN_NETWORK/bridge/default}" \
    --build-arg "SOURCE_COMMIT=$(source_commit)" "${GITHUB_ACTION_PATH}"
}

run_in_container() {
  local image user group options
  image=$(get_image)
  user=$(id -u) group=$(id -g)
  if ((user == 0)); then # never root, also where the runner is
    user=10001 group=10001
    chown -R "${user}:${group}" "${scratch}"
    chmod 0711 "${scratch}"
    if [[ ${IN_COMMAND} == run ]]; then chown "${user}:${group}" -- "${IN_BUNDLE}"; fi
  fi
  # No --init: that process would hold the keys in its environment, readable for every adapter. discovercall
  # hides its own.
  options=(--rm --read-only --cap-drop ALL --security-opt no-new-privileges --pids-limit 512
    --user "${user}:${group}" --network "${IN_NETWORK}" --tmpfs /tmp:rw,nosuid,nodev,size=1g,mode=1777
    --volume "${root}:/checkout:ro" --volume "${scratch}/exchange:/exchange"
    --env GITHUB_OUTPUT=/exchange/output --env GITHUB_STEP_SUMMARY=/exchange/summary)
  for name in "${names[@]}"; do
    [[ -z ${!name:-} ]] || options+=(--env "${name}")
  done
  case ${IN_COMMAND} in
    run) options+=(--volume "${scratch}/private:/private" --volume "${IN_BUNDLE}:/bundle") ;;
    propose) options+=(--volume "${IN_BUNDLE}:/bundle:ro") ;;
  esac
  docker run "${options[@]}" "${image}" "${arguments[@]}"
}

status=0
if [[ ${IN_RUNTIME} == installed ]]; then
  GITHUB_OUTPUT=${exchange}/output GITHUB_STEP_SUMMARY=${exchange}/summary \
    discovercall "${arguments[@]}" || status=$?
else
  run_in_container || status=$?
fi
# Values stand between random delimiters in there, so they may be passed on as they are.
cat -- "${scratch}/exchange/output" >>"${GITHUB_OUTPUT}"
cat -- "${scratch}/exchange/summary" >>"${GITHUB_STEP_SUMMARY}"
exit "${status}"
