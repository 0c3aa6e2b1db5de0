import {
  chmodSync,
  copyFileSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { cachedBuild, type Tool } from '../builds/build-cache.ts';
import { buildDebianTree, packRamdisk } from './host-packages.ts';

const include = [
  'linux-image-cloud-amd64',
  ...['kmod', 'udev', 'busybox-static', 'iproute2', 'procps', 'psmisc', 'util-linux-extra'],
  ...['fdisk', 'gdisk', 'parted', 'dosfstools', 'e2fsprogs', 'mdadm', 'qemu-utils', 'genisoimage'],
  ...['hdparm', 'nvme-cli', 'smartmontools', 'lsscsi'],
  ...['lshw', 'dmidecode', 'efibootmgr', 'ethtool', 'pciutils'],
  ...['cryptography', 'eventlet', 'pbr', 'pint', 'psutil', 'pyudev', 'requests', 'stevedore', 'tenacity'].map(
    python,
  ),
  ...['oslo.concurrency', 'oslo.config', 'oslo.log', 'oslo.service', 'oslo.utils'].map(python),
  ...['tooz', 'werkzeug', 'zeroconf'].map(python),
];

/** Unpacks the agent without its package dependencies, which triple the size, and compiles it, which is slow when emulated. */
const hook = `chroot "$1" sh -ec '
  cd /tmp
  apt-get -qq download ironic-python-agent
  dpkg-deb -x ironic-python-agent_*.deb /
  rm ironic-python-agent_*.deb
  python3 -m compileall -q /usr/lib/python3/dist-packages/ironic_python_agent
'`;

/** Large files that are not needed; the whole ramdisk is in the machine's memory. */
const without = [
  'boot',
  'var/cache/*',
  'var/lib/apt',
  'var/lib/dpkg',
  'usr/share/python-babel-localedata',
  'usr/share/ieee-data',
  'usr/share/perl',
  'usr/lib/x86_64-linux-gnu/gconv',
  'usr/lib/udev/hwdb.*',
  'usr/lib/python3/dist-packages/setuptools',
  'usr/lib/python3/dist-packages/docutils',
  'usr/lib/python3/dist-packages/testtools',
];

const off = '#!/bin/sh\nsync\necho o >/proc/sysrq-trigger\n';
const again = '#!/bin/sh\nsync\necho b >/proc/sysrq-trigger\n';

export interface DeployRamdisk {
  readonly kernelFile: string;
  readonly ramdiskFile: string;
  /** Modules of the kernel, for images that use the same kernel. */
  readonly modulesFolder: string;
}

/** A kernel and a ramdisk with ironic-python-agent. Built once per recipe and cached. */
export async function deployRamdisk(cache: string, tool: Tool): Promise<DeployRamdisk> {
  const here = import.meta.dirname;
  const recipe = ['ramdisk.ts', 'host-packages.ts', 'agent-init.sh', 'dhcp.sh']
    .map((name) => readFileSync(path.join(here, name), 'utf8'))
    .join('\n');
  const folder = await cachedBuild(cache, 'ramdisk', recipe, async (draft) => {
    const [tree, at] = [path.join(draft, 'tree'), (name: string): string => path.join(draft, name)];
    await buildDebianTree(tool, tree, { variant: 'apt', include, hook });
    mkdirSync(path.join(tree, 'usr/lib/millrace'));
    copyFileSync(path.join(here, 'agent-init.sh'), path.join(tree, 'init'));
    copyFileSync(path.join(here, 'dhcp.sh'), path.join(tree, 'usr/lib/millrace/dhcp.sh'));
    writeFileSync(path.join(tree, 'usr/sbin/poweroff'), off);
    writeFileSync(path.join(tree, 'usr/sbin/reboot'), again);
    for (const name of ['init', 'usr/lib/millrace/dhcp.sh', 'usr/sbin/poweroff', 'usr/sbin/reboot']) {
      chmodSync(path.join(tree, name), 0o755);
    }
    await packRamdisk(tool, tree, at('ramdisk'), without);
    copyFileSync(only(path.join(tree, 'boot/vmlinuz-*')), at('kernel'));
    renameSync(only(path.join(tree, 'usr/lib/modules/*')), at('modules'));
    await tool('rm', '-rf', '--one-file-system', tree);
  });
  return {
    kernelFile: path.join(folder, 'kernel'),
    ramdiskFile: path.join(folder, 'ramdisk'),
    modulesFolder: path.join(folder, 'modules'),
  };
}

function python(name: string): string {
  return `python3-${name}`;
}

function only(pattern: string): string {
  const [file] = globSync(pattern);
  if (file === undefined) throw new Error(`No file matches ${pattern}.`);
  return file;
}
