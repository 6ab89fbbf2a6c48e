#!/usr/bin/env bash
# Builds the `flowgmm` program for release into target/dist: one archive with the program, manual pages and completions, and its
# SHA-256.
#
#     scripts/release.sh                                  # for this machine
#     scripts/release.sh x86_64-unknown-linux-musl        # with musl, if the target and a C compiler for it are installed
#
# On Linux the program is static: it needs no library of the system, and the script tries it in an empty root directory. With a GNU
# target the C library is linked in (the flag crt-static goes to the last link alone, so that nothing else is compiled again).
# Names of hosts are then still looked up by the C library of the machine that runs it, which matters for `flowgmm data get`
# alone. With a musl target not even that is needed; it takes `rustup target add x86_64-unknown-linux-musl` and musl-gcc (Debian:
# musl-tools), and has not been built to its end yet.
# On other systems the program is linked to the libraries that every program there uses. GPUs (--features wgpu) need the
# system's driver, and are not part of the release. Containerfile puts the static program into an image.
set -euo pipefail
cd "$(dirname "$0")/.."
host=$(rustc -vV | sed -n 's/^host: //p')
target=${1:-$host}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
name="flowgmm-$version-$target"
built=${CARGO_TARGET_DIR:-target}
out=$built/dist
link=()
case "$target" in *-linux-*) link=(-- -C target-feature=+crt-static) ;; esac
if [ "$target" = "$host" ]; then
    # With the usual target directory, so that what is compiled is used.
    cargo rustc --release --locked -p flowgmm-cli --bin flowgmm "${link[@]}"
    program=$built/release/flowgmm
else
    cargo rustc --release --locked -p flowgmm-cli --bin flowgmm --target "$target" "${link[@]}"
    program=$built/$target/release/flowgmm
fi
rm -rf "${out:?}/$name"
mkdir -p "$out/$name/man" "$out/$name/completions"
cp "$program" README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$out/$name/"
if "$program" --version >/dev/null 2>&1; then
    "$program" man --out "$out/$name/man" --quiet
    for shell in bash zsh fish; do
        "$program" completions "$shell" >"$out/$name/completions/flowgmm.$shell"
    done
else
    echo "skipped: manual pages and completions, since this machine cannot run $target"
fi
tar -C "$out" -czf "$out/$name.tar.gz" "$name"
(cd "$out" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
echo "$out/$name.tar.gz"
if command -v ldd >/dev/null; then
    echo "libraries that the program needs:"
    ldd "$program" 2>&1 | sed 's/^/  /' || true
fi
if unshare --map-root-user true 2>/dev/null && "$program" --version >/dev/null 2>&1; then
    root=$(mktemp -d)
    trap 'rm -rf "$root"' EXIT
    cp "$program" examples/tumours/train.csv examples/tumours/test.csv "$root/"
    echo "in a root directory with nothing but the program and two tables:"
    for command in "fit train.csv --label diagnosis --model m.flowgmm" "evaluate m.flowgmm test.csv"; do
        # shellcheck disable=SC2086 # words of a command
        unshare --map-root-user --root="$root" --wd=/ /flowgmm $command --quiet | tail -n +2 | head -1 | sed 's/^/  /'
    done
fi
