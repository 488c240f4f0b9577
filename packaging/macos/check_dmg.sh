#!/usr/bin/env bash
# Installs the app from a disk image into an empty folder, and has it answer one prompt.
#   packaging/macos/check_dmg.sh IMAGE PICTURE         (run by .github/workflows/release.yml)
#
# Not run on a Mac yet. Checked: bash -n and shellcheck, and the paths.
set -euo pipefail
image=$1 picture=$2
place=$(mktemp -d)
trap 'hdiutil detach -quiet "$place/image" || true; rm -rf "$place"' EXIT

hdiutil attach -quiet -nobrowse -readonly -mountpoint "$place/image" "$image"
[ -L "$place/image/Applications" ] || { echo "The link to Applications is missing." >&2; exit 1; }
ditto "$place/image/Slipstream.app" "$place/Slipstream.app"
codesign --verify --deep --strict "$place/Slipstream.app"
# OpenMP must come from torch alone: a second one beside it ends the process.
if [ "$(find "$place/Slipstream.app" -type f -name 'lib*omp*.dylib' | wc -l)" -gt 1 ]; then
    echo "There are two OpenMP libraries in the app:" >&2
    find "$place/Slipstream.app" -type f -name 'lib*omp*.dylib' >&2
    exit 1
fi
SLIPSTREAM_DATA_DIR="$place/data" "$place/Slipstream.app/Contents/MacOS/slipstream" --smoke "$picture"
[ -s "$picture" ]
