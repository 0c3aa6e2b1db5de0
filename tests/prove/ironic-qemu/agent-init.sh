#!/bin/sh
# Init of the deploy ramdisk: sets up devices and network and runs the Ironic agent.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin PYTHONUNBUFFERED=1 LC_ALL=C.UTF-8
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /run
mkdir -p /run/lock
exec </dev/console >/dev/console 2>&1

for module in virtio_blk virtio_net virtio_rng ata_piix sr_mod isofs vfat nls_ascii nls_cp437 ext4; do
  modprobe -q "$module"
done
/usr/lib/systemd/systemd-udevd --daemon
udevadm trigger
udevadm settle --timeout=60

ip link set lo up
for card in /sys/class/net/e*; do
  ip link set "${card##*/}" up
  busybox udhcpc -i "${card##*/}" -n -q -t 20 -s /usr/lib/millrace/dhcp.sh
done

ironic-python-agent --config-dir /etc/ironic-python-agent.d
echo "The agent ended with $?."
sync
echo o >/proc/sysrq-trigger
while :; do sleep 60; done
