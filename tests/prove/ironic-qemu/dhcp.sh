#!/bin/sh
# udhcpc calls this script with the DHCP lease.
[ "$1" = bound ] || [ "$1" = renew ] || exit 0
ip addr replace "$ip/$mask" dev "$interface"
ip route replace default via "${router%% *}" dev "$interface"
# The host is the machine's router and calls itself localhost, so that name must resolve to it here too.
echo "${router%% *} localhost" >/etc/hosts
