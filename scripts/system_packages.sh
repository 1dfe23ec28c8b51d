#!/usr/bin/env bash
# Installs the system libraries that Qt, the tests and the native recorder need, on Debian and Ubuntu.
# Without the right to do so it prints the exact command and stops.
set -u
packages=(
  python3-venv g++ graphviz xvfb
  libegl1 libgl1 libglib2.0-0 libdbus-1-3 libfontconfig1 libxkbcommon-x11-0
  libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-image0 libxcb-render-util0 libxcb-shape0
  libxcb-randr0 libxcb-xinerama0 fonts-dejavu-core fonts-wqy-microhei
)
if ! command -v dpkg-query >/dev/null; then
  echo "This is neither Debian nor Ubuntu: install the equivalents of: ${packages[*]}" >&2
  exit 0
fi
# A package may have been renamed (libglib2.0-0t64): what provides it counts, too.
provided=$(dpkg-query -W -f '${db:Status-Status} ${Package} ${Provides}\n' | sed -n 's/^installed //p' | tr ' ,' '\n\n')
missing=()
for package in "${packages[@]}"; do
  grep -qx -- "$package" <<<"$provided" || missing+=("$package")
done
# A Python that brings its own venv module needs no python3-venv.
if python3 -c 'import ensurepip' 2>/dev/null; then
  kept=()
  for package in "${missing[@]}"; do [ "$package" = python3-venv ] || kept+=("$package"); done
  missing=(${kept[@]+"${kept[@]}"})
fi
[ ${#missing[@]} -eq 0 ] && exit 0
install="apt-get install -y --no-install-recommends ${missing[*]}"
if [ "$(id -u)" -eq 0 ]; then
  prefix=()
elif sudo -n true 2>/dev/null; then
  prefix=(sudo -n)
else
  echo "These system packages are missing. Run this, then try again:" >&2
  echo "  sudo apt-get update && sudo $install" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
"${prefix[@]}" apt-get update -q </dev/null && "${prefix[@]}" $install </dev/null || {
  echo "Installing system packages failed. Run this by hand, then try again:" >&2
  echo "  sudo apt-get update && sudo $install" >&2
  exit 1
}
