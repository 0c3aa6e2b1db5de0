#!/bin/sh
# Stands in front of QEMU in the daemon's PATH. Whatever Incus asks for, the machine is EMULATED in software: without KVM,
# without the host's processor and without the socket to an agent.
set -e
rest=$#
while [ "$rest" -gt 0 ]; do
  word=$1
  shift
  case $previous in
    # Newer processors have wide registers, which take an emulator longer.
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
