# Sourced by ./quickstart and ./check: goes to the project's root and installs what is missing on Debian and Ubuntu.
# Does nothing, and needs no network, where everything is there already.

cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=$(nproc)
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$jobs}

build_packages=(g++ cmake ninja-build pkg-config libsimgrid-dev libopenmpi-dev openmpi-bin libyaml-cpp-dev libcli11-dev
                libfmt-dev nlohmann-json3-dev libhwloc-dev libpugixml-dev libsqlite3-dev libfftw3-dev zlib1g-dev
                libprotozero-dev graphviz libjs-chart.js)
# Debian 12 and Ubuntu 24.04 have version 16 of the LLVM tools, Debian 13 has 19. Format is what 16 makes of it, for that
# differs between versions, and is not checked elsewhere. clang-tidy brings clang; its sanitizers are a package more.
clang_format=clang-format-16
llvm=16
check_packages=(libgtest-dev libgmock-dev python3-jsonschema python3-yaml python3-pandas python3-matplotlib python3-pytest
                python3-nbclient python3-ipykernel python3-pip python3-setuptools python3-wheel mypy)
if [[ $(. /etc/os-release 2>/dev/null && echo "$ID $VERSION_ID") == "debian 13" ]]; then
  llvm=19
else
  check_packages+=("$clang_format")
fi
clang_tidy=clang-tidy-$llvm
clang_compiler=clang++-$llvm
check_packages+=("$clang_tidy" "clang-$llvm" "libclang-rt-$llvm-dev")
all_packages=(chromium "python3-clang-$llvm" "libclang-$llvm-dev")  # of ./check --all

say() { printf '==> %s\n' "$*"; }

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

is_installed() { [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

as_root() {
  if ((EUID == 0)); then
    "$@"
  elif [[ -t 0 ]]; then
    sudo "$@"
  else
    sudo --non-interactive "$@"
  fi
}

apt() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@"
}

# Is a package to be had here? Asked after the package lists were read.
is_available() { [[ $(LC_ALL=C apt-cache policy "$1" 2>/dev/null) == *Candidate:\ [!\(]* ]]; }

# install_missing PACKAGE...
install_missing() {
  command -v dpkg-query >/dev/null || {
    say "no dpkg here: taking for granted that these are installed: $*"
    return
  }
  local package missing=() wanted=()
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  ((${#missing[@]})) || return 0

  if ((EUID != 0)) && ! command -v sudo >/dev/null; then
    fail "these packages are missing, and there is no sudo; as root: apt-get install ${missing[*]}"
  fi
  say "reading the package lists"
  apt update || fail "cannot read the package lists; missing: ${missing[*]}"
  for package in "${missing[@]}"; do
    if is_available "$package"; then
      wanted+=("$package")
    else
      say "not to be had on this system: $package"
    fi
  done
  ((${#wanted[@]})) || return 0
  say "installing ${wanted[*]}"
  apt install --no-install-recommends "${wanted[@]}" >/dev/null || fail "cannot install ${wanted[*]}"
}

# Can clang build a program of libFuzzer?
has_fuzzer() {
  command -v "$clang_compiler" >/dev/null &&
    [[ -n $(find "$("$clang_compiler" -print-runtime-dir)" -name 'libclang_rt.fuzzer-*' -o -name 'libclang_rt.fuzzer.a') ]]
}

# The flag for CMake: the simulator is left out where SimGrid is not to be had.
simgrid_flag() {
  if pkg-config --exists simgrid; then
    echo -DTWINLINK_SIMGRID=ON
  else
    echo -DTWINLINK_SIMGRID=OFF
  fi
}

# "Debian GNU/Linux 13 (trixie): g++ 14.2.0, SimGrid 4.0, CLI11 2.4.1, Open MPI 5.0.7": what a run was made with.
versions() {
  local package name text
  text="$(. /etc/os-release 2>/dev/null && echo "${PRETTY_NAME:-}"): ${CXX:-g++} $("${CXX:-g++}" -dumpfullversion)"
  for package in "SimGrid libsimgrid-dev" "CLI11 libcli11-dev" "Open MPI libopenmpi-dev"; do
    name=${package% *}
    package=$(dpkg-query -W -f='${Version}' "${package##* }" 2>/dev/null || true)
    text+=", $name ${package:-none}"
  done
  echo "$text"
}
