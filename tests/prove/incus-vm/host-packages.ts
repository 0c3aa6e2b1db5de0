import { existsSync } from 'node:fs';
import { UnsupportedHostError } from '@millrace/runners';
import { requireFiles, type Packages } from '../build-cache.ts';

/** Programs, with the libraries that they need: the emulator and its firmware, and what makes disks. */
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
/** One file of it is the boot loader of the machine. */
const loader = 'systemd-boot-efi';

export const packages: Packages = { programs, alone: [loader] };

/** What must be on the machine already, and what brings it. */
const needed: Readonly<Record<string, string>> = {
  '/usr/bin/apt-get': 'Debian 12',
  '/usr/libexec/incus/incusd': '`npm run services -- up incus --install`',
  '/usr/bin/incus': 'the package incus-client',
  '/usr/sbin/debootstrap': 'the package debootstrap',
  '/sbin/mkfs.ext4': 'the package e2fsprogs',
  '/usr/bin/python3': 'the package python3',
};

/** Says what this machine lacks, before anything is fetched or made. */
export function requireIncusHost(): void {
  requireFiles(needed);
  if (!existsSync('/dev/vsock')) {
    throw new UnsupportedHostError(
      'the kernel has no vsock, without which Incus runs no VMs (CONFIG_VSOCKETS).',
    );
  }
}
