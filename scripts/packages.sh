# Debian packages for scripts that bring what they need; sourced, by bash. One policy for all of them: as root or with sudo, and
# where neither can be, who needs what is said, and nothing is done.

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# may_install "WHO need" PACKAGE...: whether packages can be installed here.
may_install() {
  local need=$1
  shift
  if ! command -v apt-get >/dev/null; then
    echo "$need: $*. Install them with your package manager, then try again." >&2
    return 2
  fi
  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    echo "$need: $*. Install them as root with apt-get install, then try again." >&2
    return 2
  fi
}

# install_packages PACKAGE...: nothing beyond what they depend on.
install_packages() {
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}
