# Shared by the scripts: where the project lies, how they talk, and how Debian packages arrive.
# Sourced, never run. Needs bash and coreutils only.

ROOT="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)"
VENV="$ROOT/.venv"
PYTHON="$VENV/bin/python"

say() { printf '%s\n' "$*" >&2; }
fail() {
  say "error: $1"
  [ $# -lt 2 ] || say "  $2"
  exit 1
}

# as_root COMMAND…: run as root where this user may, without ever asking for a password.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    sudo -n "$@"
  else
    return 1
  fi
}

# apt_install PACKAGE…: true when apt installed them; never asks and never waits long.
apt_install() {
  command -v apt-get >/dev/null 2>&1 || return 1
  as_root true || return 1
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120
    -o Acquire::Retries=2 -o Acquire::http::Timeout=60 -o Acquire::https::Timeout=60)
  # Package lists may be absent (a fresh image) or old, so a first failure refreshes them.
  as_root "${apt[@]}" install --no-install-recommends "$@" >/dev/null 2>&1 </dev/null && return 0
  as_root "${apt[@]}" update >/dev/null 2>&1 </dev/null || true
  as_root "${apt[@]}" install --no-install-recommends "$@" >/dev/null 2>&1 </dev/null
}
