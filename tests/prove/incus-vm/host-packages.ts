import { existsSync } from 'node:fs';
import { UnsupportedHostError } from '@millrace/runners';
import { requireFiles, type Packages } from '../builds/build-cache.ts';

/** The emulator, its firmware, and programs that create disks; unpacked with their libraries. */
const programs = [
  'qemu-system-x86',
  'qemu-utils',
  'ovmf',
  'genisoimage',
  'gdisk',
  'dosfstools',
  'mtools',
  'fdisk',
];
/** Contains the machine's boot loader. */
const loader = 'systemd-boot-efi';

export const packages: Packages = { programs, alone: [loader] };

const needed: Readonly<Record<string, string>> = {
  '/usr/bin/apt-get': 'Debian 12',
  '/usr/libexec/incus/incusd': '`npm run services -- up incus --install`',
  '/usr/bin/incus': 'the package incus-client',
  '/usr/sbin/debootstrap': 'the package debootstrap',
  '/sbin/mkfs.ext4': 'the package e2fsprogs',
  '/usr/bin/python3': 'the package python3',
};

export function requireIncusHost(): void {
  requireFiles(needed);
  if (!existsSync('/dev/vsock')) {
    throw new UnsupportedHostError(
      'the kernel has no vsock, without which Incus runs no VMs (CONFIG_VSOCKETS).',
    );
  }
}
