#!/usr/bin/env bash
# Builds the `flowgmm` program for release into target/dist: one archive with the program, manual pages and completions, and its
# SHA-256.
#
#     scripts/release.sh                                  # for this machine
#     scripts/release.sh x86_64-unknown-linux-musl        # static, if the target and a C compiler for it are installed
#
# With a musl target the program is static: it needs no library of the system and runs on any Linux of that architecture. For
# that, `rustup target add x86_64-unknown-linux-musl` and a C compiler named in CC_x86_64_unknown_linux_musl (Debian: musl-tools)
# are needed. With a GNU target it is linked to the C library alone (libc, libm, libgcc_s), and runs where that is as new as on
# the machine that built it. GPUs (--features wgpu) need the system's driver in any case, and are not part of the release.
set -euo pipefail
cd "$(dirname "$0")/.."
host=$(rustc -vV | sed -n 's/^host: //p')
target=${1:-$host}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
name="flowgmm-$version-$target"
out=target/dist
if [ "$target" = "$host" ]; then
    cargo build --release --locked -p flowgmm-cli
    program=target/release/flowgmm
else
    cargo build --release --locked -p flowgmm-cli --target "$target"
    program=target/$target/release/flowgmm
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
case "$(file -b "$program" 2>/dev/null || true)" in
*"statically linked"* | *"static-pie linked"*) echo "the program is static" ;;
*) if command -v ldd >/dev/null; then echo "the program needs:" && ldd "$program" | sed 's/^/  /'; fi ;;
esac
