#!/bin/sh
# Prevents machines on a Millrace bridge from taking over each other's MAC addresses in the bridge's forwarding table.
#
# Incus filters the frames of a machine (`security.mac_filtering`), but only after the bridge has learned the sender's MAC: a
# machine that sends one frame with a neighbour's MAC receives the neighbour's traffic until the neighbour sends again. The
# rules of this script drop such frames before the bridge processes them. They never change: Millrace gives a machine with the
# address 10.64.3.5 the MAC 10:66:6a:40:03:05 and the host interface mr0a400305, so all pairs of a subnet are known.
#
# Run it as root on every Incus host, at boot before machines start (`bridge-guard.sh --unit CIDR` prints a systemd unit):
#
#   bridge-guard.sh NETWORK          loads or replaces the rules for this Incus network
#   bridge-guard.sh --subnet CIDR    the same for a network with the address CIDR, without calling Incus
#   bridge-guard.sh --print CIDR     only prints the rules
#   bridge-guard.sh --remove         removes the rules
#   bridge-guard.sh --unit CIDR      prints a systemd unit that loads the rules at boot
set -eu

fail() {
  echo "bridge-guard.sh: $*" >&2
  exit 1
}

# One table per subnet, because a host can have several.
rules() {
  printf '%s\n' "$1" | awk -F '[./]' '
    NF != 5 || $5 < 16 || $5 > 29 { bad = 1; exit }
    {
      size = 2 ^ (32 - $5)
      gateway = (($1 * 256 + $2) * 256 + $3) * 256 + $4
      base = gateway - gateway % size
      name = sprintf("millrace_%08x", base)
      printf "table bridge %s\ndelete table bridge %s\ntable bridge %s {\n", name, name, name
      printf "  set nics {\n    type ifname . ether_addr\n    elements = {\n"
      for (number = base + 1; number < base + size - 1; number++) {
        a = int(number / 16777216); b = int(number / 65536) % 256; c = int(number / 256) % 256; d = number % 256
        printf "      \"mr%02x%02x%02x%02x\" . 10:66:6a:%02x:%02x:%02x,\n", a, b, c, d, b, c, d
      }
      printf "    }\n  }\n"
      printf "  set interfaces {\n    type ifname\n    elements = {\n"
      for (number = base + 1; number < base + size - 1; number++) printf "      \"mr%08x\",\n", number
      printf "    }\n  }\n"
      printf "  chain prerouting {\n    type filter hook prerouting priority -350; policy accept;\n"
      printf "    iifname @interfaces iifname . ether saddr != @nics counter drop\n  }\n}\n"
    }
    END { exit bad }
  ' || fail "$1 is not an IPv4 subnet of 16 to 29 bits, such as 10.64.0.1/16."
}

load() {
  text=$(rules "$1")
  printf '%s\n' "$text" | nft -f - || fail 'nft could not load the rules. Is nftables installed, and does the kernel support the bridge family?'
}

case ${1:-} in
  --print) rules "${2:-}" ;;
  --subnet) load "${2:-}" ;;
  --remove)
    nft list tables bridge | awk '$3 ~ /^millrace_/ { print $3 }' | while read -r table; do
      nft delete table bridge "$table"
    done ;;
  --unit)
    cat <<END
[Unit]
Description=Bridge guard of Millrace
Before=incus.service
After=nftables.service

[Service]
Type=oneshot
RemainAfterExit=yes
# The ipv4.address of the machines' network: incus network get NETWORK ipv4.address
ExecStart=/usr/local/sbin/bridge-guard.sh --subnet ${2:-10.64.0.1/16}

[Install]
WantedBy=multi-user.target
END
    ;;
  '' | -*) fail 'usage: bridge-guard.sh NETWORK | --subnet CIDR | --print CIDR | --remove | --unit [CIDR]' ;;
  *)
    subnet=$(incus network get "$1" ipv4.address) || fail "Incus has no network $1."
    load "$subnet" ;;
esac
