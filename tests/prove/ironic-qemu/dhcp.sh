#!/bin/sh
# What udhcpc calls with what the network has told it.
[ "$1" = bound ] || [ "$1" = renew ] || exit 0
ip addr replace "$ip/$mask" dev "$interface"
ip route replace default via "${router%% *}" dev "$interface"
# The host that runs this machine is its router, and is called by the name that it has for itself.
echo "${router%% *} localhost" >/etc/hosts
