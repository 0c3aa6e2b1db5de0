#!/bin/busybox sh
# Minimal system of a tenant's image: reads its hostname and SSH keys from the config drive on its disk. These keys are the only
# access.
/bin/busybox --install -s /bin
export PATH=/bin:/usr/sbin:/usr/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts
mount -t devpts devpts /dev/pts
exec </dev/console >/dev/console 2>&1

while read -r module; do insmod "/modules/$module.ko"; done </modules/order
disk=/dev/vda
until [ -b "${disk}1" ]; do sleep 1; done

mount -t vfat "${disk}1" /data
for part in "$disk"[2-9]; do
  mount -t iso9660 -o ro "$part" /config && [ -f /config/openstack/latest/meta_data.json ] && break
  umount /config
done
told=/config/openstack/latest/meta_data.json
hostname "$(sed -n 's/.*"hostname": *"\([^"]*\)".*/\1/p' "$told")"
grep -o 'ssh-[a-z0-9-]* [A-Za-z0-9+/=]*' "$told" >/root/.ssh/authorized_keys
chmod -R go= /root

ip link set lo up
for card in /sys/class/net/e*; do
  ip link set "${card##*/}" up
  udhcpc -i "${card##*/}" -n -q -t 20 -s /dhcp.sh
done
# -R creates host keys at the first connection, -s disables password logins.
dropbear -R -s -E -p 22
echo "The tenant's system is up."
while :; do sleep 60; done
