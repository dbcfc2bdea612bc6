# What the scripts share: where things are, what must be there, and how a script ends. Read with `source`.
# shellcheck shell=bash

root=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")

# Ends the script with one line that says what is wrong and what to do.
fail() {
  printf '%s: %s\n' "${0##*/}" "$1" >&2
  exit "${2:-1}"
}

# have TOOL: whether it is there and works. A compiler without the C library's headers is no compiler.
have() {
  case $1 in
    cc) command -v cc > /dev/null && echo '#include <stdio.h>' | cc -E - > /dev/null 2>&1 ;;
    venv) python3 -c 'import ensurepip, venv' > /dev/null 2>&1 ;;
    python-headers) [ -f "$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ] ;;
    libclang) compgen -G "${LIBCLANG_PATH:-/usr/lib*/llvm*/lib*}/libclang[-.][0-9s]*" > /dev/null || compgen -G '/usr/lib*/libclang[-.][0-9s]*' > /dev/null ;;
    libfabric) python3 -c 'import ctypes; ctypes.CDLL("libfabric.so.1")' > /dev/null 2>&1 ;;
    *) command -v "$1" > /dev/null ;;
  esac
}

# The tools that scripts install where they are missing.
tools=(cc c++ make cmake pkg-config python3 venv python-headers libclang libfabric ip gfortran)

# packages_of TOOL: its packages on Debian, a line each.
packages_of() {
  case $1 in
    cc) printf '%s\n' gcc libc6-dev ;;
    c++) echo g++ ;;
    venv) echo python3-venv ;;
    python-headers) echo python3-dev ;;
    libclang) echo libclang-dev ;;
    libfabric) echo libfabric1 ;;
    ip) echo iproute2 ;;
    *) echo "$1" ;;
  esac
}

# need TOOL...: installs the packages of those that are missing, with apt-get where there is one.
need() {
  local tool packages=() missing=() named
  for tool; do
    have "$tool" && continue
    missing+=("$tool")
    mapfile -t named < <(packages_of "$tool")
    packages+=("${named[@]}")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  command -v apt-get > /dev/null ||
    fail "missing: ${missing[*]}. Install them with your system's package manager, then run this again"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo > /dev/null ||
      fail "missing: ${missing[*]}. As root: apt-get install ${packages[*]}; then run this again"
    as_root=(sudo)
  fi
  echo "installing ${packages[*]}"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0)
  if ! { "${apt[@]}" update && "${apt[@]}" install --yes --no-install-recommends "${packages[@]}"; } > /dev/null; then
    fail "apt-get could not install ${packages[*]}: see above"
  fi
  for tool in "${missing[@]}"; do
    have "$tool" || fail "$tool is still missing after installing ${packages[*]}: install it by hand"
  done
}

# want TOOL...: installs the packages of those that are missing, where that needs no help: tests that want them are
# skipped otherwise, and counted.
want() {
  if command -v apt-get > /dev/null && { [ "$(id -u)" -eq 0 ] || command -v sudo > /dev/null; }; then
    (need "$@") || echo "tests that want $* are skipped"
  fi
}

# need_rust [COMPONENT...]: cargo and rustc, as new as Cargo.toml asks for, and components such as clippy.
need_rust() {
  local wanted found component
  # rustup installs cargo there, and a shell that was open before does not know.
  command -v cargo > /dev/null || PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
  wanted=$(sed -n 's/^rust-version *= *"\(.*\)"$/\1/p' "$root/Cargo.toml")
  if ! command -v cargo > /dev/null || ! command -v rustc > /dev/null; then
    fail "Rust is missing: install $wanted or later with rustup (https://rustup.rs), then run this again"
  fi
  found=$(cd "$root" && rustc --version | cut -d ' ' -f 2) || fail "rustc does not run: see above"
  [ "$(printf '%s\n' "$wanted" "$found" | sort -V | head -n 1)" = "$wanted" ] ||
    fail "Rust $found is too old: $wanted is needed; run 'rustup update', then this again"
  for component; do
    (cd "$root" && cargo "$component" --version) > /dev/null 2>&1 ||
      fail "cargo $component is missing: run 'rustup component add ${component/fmt/rustfmt}', then this again"
  done
}

# need_build [COMPONENT...]: what every build of the workspace wants: a library that it uses generates C with CMake,
# which looks for a C++ compiler, too.
need_build() {
  need cc c++ make cmake
  need_rust "$@"
}

# Where cargo builds: the user may have moved it.
target_directory() {
  (cd "$root" && cargo metadata --format-version 1 --no-deps) | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'
}
