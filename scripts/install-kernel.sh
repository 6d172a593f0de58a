#!/usr/bin/env bash
# Installs what cutting the power of a real kernel needs, where it may: User-Mode Linux, and what makes the file systems that the
# cuts take in turn. Fails, and says what is missing, where it may not; then the report says NOT VERIFIED of these cuts alone.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh

# Where an ordinary user's path does not lead, too, as `contend doctor` looks.
PATH=$PATH:/usr/sbin:/sbin
missing=()
for pair in linux.uml:user-mode-linux mkfs.ext4:e2fsprogs mkfs.xfs:xfsprogs mkfs.btrfs:btrfs-progs; do
  command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
done
[ ${#missing[@]} -eq 0 ] && exit 0
may_install "Power cuts of a real kernel need" "${missing[@]}" || exit 2
echo "Installing for power cuts of a real kernel: ${missing[*]}"
install_packages "${missing[@]}"
