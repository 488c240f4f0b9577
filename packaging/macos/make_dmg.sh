#!/usr/bin/env bash
# Makes a disk image to install Slipstream.app from: the app, and a link to the folder to drag it to.
#   packaging/macos/make_dmg.sh APP OUT VERSION        (run by packaging/bundle.py on macOS)
# Signing and notarizing are left out unless these are set:
# CODESIGN_IDENTITY   as in "Developer ID Application: Name (TEAM)"; without it PyInstaller's ad-hoc signature stays,
#                     and people open the app the first time by System Settings > Privacy & Security > Open Anyway
# NOTARY_PROFILE      name of credentials stored by `xcrun notarytool store-credentials`
#
# Not run on a Mac yet. Checked: bash -n and shellcheck, the paths, and that its property lists parse.
set -euo pipefail
cd "$(dirname "$0")/../.."
app=$1 out=$2 version=$3
entitlements=packaging/macos/entitlements.plist
image=$out/Slipstream-$version-macos-$(uname -m).dmg

say() { printf '\033[1m%s\033[0m\n' "$*" >&2; }

# From the inside out: the signature of a folder covers those of its contents.
sign() {
    local file
    find "$app/Contents" -type f -print0 | while IFS= read -r -d '' file; do
        if file -b "$file" | grep -q Mach-O; then
            codesign --force --timestamp --options runtime --entitlements "$entitlements" \
                --sign "$CODESIGN_IDENTITY" "$file"
        fi
    done
    codesign --force --timestamp --options runtime --entitlements "$entitlements" --sign "$CODESIGN_IDENTITY" "$app"
    codesign --verify --deep --strict "$app"
}

if [ -n "${CODESIGN_IDENTITY:-}" ]; then
    say "Signing"
    sign
fi

inside=$(mktemp -d)
trap 'rm -rf "$inside"' EXIT
ditto "$app" "$inside/Slipstream.app"
ln -s /Applications "$inside/Applications"
rm -f "$image"
say "Making $image"
hdiutil create -quiet -volname "Slipstream $version" -srcfolder "$inside" -fs HFS+ -format UDZO "$image"

if [ -n "${CODESIGN_IDENTITY:-}" ]; then
    codesign --force --timestamp --sign "$CODESIGN_IDENTITY" "$image"
    if [ -n "${NOTARY_PROFILE:-}" ]; then
        say "Having it notarized (Apple takes some minutes)"
        xcrun notarytool submit "$image" --keychain-profile "$NOTARY_PROFILE" --wait
        xcrun stapler staple "$image"
    fi
fi
