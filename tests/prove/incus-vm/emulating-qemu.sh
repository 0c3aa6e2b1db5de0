#!/bin/sh
# Wrapper in front of QEMU in the daemon's PATH. It forces emulation in software: without KVM, the host's CPU model and the
# agent's vsock.
set -e
rest=$#
while [ "$rest" -gt 0 ]; do
  word=$1
  shift
  case $previous in
    # Newer CPU models have wide registers, which are slower to emulate.
    -cpu) word=qemu64 ;;
    -accel) word=tcg ;;
    -readconfig)
      awk '/^\[/ { left_out = /"qemu_vsock"/ } !left_out { sub(/^accel = "kvm"$/, "accel = \"tcg\""); print }' \
        "$word" >"$word.emulated"
      word=$word.emulated
      ;;
  esac
  set -- "$@" "$word"
  previous=$word
  rest=$((rest - 1))
done
exec /usr/bin/qemu-system-x86_64 "$@"
