import { UnsupportedHostError } from '@millrace/runners';
import { requireFiles, type Packages, type Tool } from '../builds/build-cache.ts';

export const packages: Packages = {
  programs: [
    'qemu-system-x86',
    'qemu-utils',
    'mmdebstrap',
    'cpio',
    'zstd',
    'syslinux',
    'syslinux-common',
    'dosfstools',
    'mtools',
    'fdisk',
  ],
};

export function requireIronicHost(): void {
  requireFiles({
    '/usr/bin/apt-get': 'Debian 12',
    '/usr/lib/python3/dist-packages/ironic': '`npm run services -- up --install ironic`',
    // Ironic converts tenants' images with it.
    '/usr/bin/qemu-img': 'the package qemu-utils',
    '/usr/bin/unshare': 'the package util-linux',
    '/usr/bin/setpriv': 'the package util-linux',
  });
}

/** The first Debian release with a package of Ironic's agent. */
const suite = 'trixie';
const mirror = 'http://deb.debian.org/debian';

export async function buildDebianTree(
  tool: Tool,
  folder: string,
  options: {
    readonly variant: 'apt' | 'extract';
    readonly include: readonly string[];
    readonly hook: string;
  },
): Promise<void> {
  const unread = ['man', 'doc', 'locale', 'info'].map(
    (name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`,
  );
  const words = [
    '--quiet',
    '--mode=root',
    '--format=directory',
    `--variant=${options.variant}`,
    '--aptopt=APT::Install-Recommends "false"',
    ...unread,
    `--include=${options.include.join(',')}`,
    `--customize-hook=${options.hook}`,
    suite,
    folder,
    `deb ${mirror} ${suite} main`,
  ];
  await tool('env', 'DEBIAN_FRONTEND=noninteractive', 'LC_ALL=C.UTF-8', 'mmdebstrap', ...words).catch(
    (error: unknown) => {
      throw new UnsupportedHostError(`mmdebstrap cannot install ${suite} from ${mirror}.`, { cause: error });
    },
  );
}

export async function packRamdisk(
  tool: Tool,
  folder: string,
  file: string,
  without: readonly string[] = [],
): Promise<void> {
  const pruned = without.flatMap((name, index) => [...(index === 0 ? [] : ['-o']), '-path', `./${name}`]);
  const found = pruned.length === 0 ? ['-print0'] : ['(', ...pruned, ')', '-prune', '-o', '-print0'];
  const script = [
    'set -o pipefail',
    'cd "$0"',
    'out=$1',
    'shift',
    'find . -xdev "$@" | cpio --quiet -0 -o -H newc | zstd -q -9 -f -o "$out"',
  ].join('\n');
  await tool('bash', '-ec', script, folder, file, ...found);
}
