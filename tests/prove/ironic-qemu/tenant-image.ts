import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { cachedBuild, type Tool } from '../builds/build-cache.ts';
import type { DeployRamdisk } from './ramdisk.ts';
import { buildDebianTree, packRamdisk } from './host-packages.ts';

const include = ['busybox-static', 'dropbear-bin'];
const modules = ['virtio_blk', 'virtio_net', 'virtio_rng', 'nls_cp437', 'nls_ascii', 'vfat', 'isofs'];
const files: Readonly<Record<string, string>> = {
  'etc/passwd': 'root:x:0:0:root:/root:/bin/sh\n',
  'etc/shadow': 'root:*:19000:0:99999:7:::\n',
  'etc/group': 'root:x:0:\n',
  'etc/shells': '/bin/sh\n',
};
const loaderSettings =
  'DEFAULT tenant\nLABEL tenant\n KERNEL kernel\n INITRD ramdisk\n APPEND console=ttyS0 quiet\n';

/** Label of the file system on the image's only partition. */
export const volumeLabel = 'TENANT';
const partitionMebibytes = 95;

export interface TenantImage {
  readonly file: string;
  readonly sha256: string;
}

/** A BIOS-bootable disk with busybox and dropbear; the config drive's keys are its only access. Built once per recipe and cached. */
export async function tenantImage(cache: string, ramdisk: DeployRamdisk, tool: Tool): Promise<TenantImage> {
  const here = import.meta.dirname;
  const recipe = ['tenant-image.ts', 'host-packages.ts', 'tenant-init.sh', 'dhcp.sh']
    .map((name) => readFileSync(path.join(here, name), 'utf8'))
    .join('\n');
  const folder = await cachedBuild(cache, 'tenant-image', `${recipe}${ramdisk.kernelFile}`, async (draft) => {
    const tree = path.join(draft, 'tree');
    await buildDebianTree(tool, tree, { variant: 'extract', include, hook: 'true' });
    await writeConfig(tree, ramdisk.modulesFolder, tool);
    await packRamdisk(tool, tree, path.join(draft, 'ramdisk'), [
      'var',
      'usr/share',
      'usr/lib/x86_64-linux-gnu/gconv',
    ]);
    await tool('rm', '-rf', '--one-file-system', tree);
    await writeDisk(draft, ramdisk.kernelFile, tool);
  });
  const file = path.join(folder, 'tenant.qcow2');
  return { file, sha256: createHash('sha256').update(readFileSync(file)).digest('hex') };
}

async function writeConfig(tree: string, modulesFolder: string, tool: Tool): Promise<void> {
  const at = (name: string): string => path.join(tree, name);
  for (const name of [
    'bin',
    'etc/dropbear',
    'proc',
    'sys',
    'dev',
    'config',
    'data',
    'root/.ssh',
    'modules',
    'tmp',
  ]) {
    mkdirSync(at(name), { recursive: true });
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(at(name), text);
  for (const name of ['lib', 'lib64']) {
    rmSync(at(name), { recursive: true, force: true });
    symlinkSync(`usr/${name}`, at(name));
  }
  copyFileSync(at('usr/bin/busybox'), at('bin/busybox'));
  copyFileSync(path.join(import.meta.dirname, 'tenant-init.sh'), at('init'));
  copyFileSync(path.join(import.meta.dirname, 'dhcp.sh'), at('dhcp.sh'));
  for (const name of ['bin/busybox', 'init', 'dhcp.sh']) chmodSync(at(name), 0o755);

  const order = sortByDependency(readFileSync(path.join(modulesFolder, 'modules.dep'), 'utf8'));
  for (const file of order) {
    copyFileSync(path.join(modulesFolder, file), at(`modules/${path.basename(file)}`));
    if (file.endsWith('.xz')) await tool('xz', '-d', at(`modules/${path.basename(file)}`));
  }
  writeFileSync(at('modules/order'), order.map((file) => `${nameOf(file)}\n`).join(''));
}

/** Module files in load order: insmod does not resolve dependencies. */
function sortByDependency(dependencies: string): readonly string[] {
  const needs = new Map(
    dependencies
      .split('\n')
      .filter((line) => line.includes(':'))
      .map((line) => {
        const [file = '', rest = ''] = line.split(':');
        return [nameOf(file), { file, before: rest.split(' ').filter(Boolean) }] as const;
      }),
  );
  const order = new Set<string>();
  const take = (name: string): void => {
    const known = needs.get(name);
    // A name without a module file is built into the kernel.
    if (known === undefined || order.has(known.file)) return;
    for (const file of known.before) take(nameOf(file));
    order.add(known.file);
  };
  for (const name of modules) take(name);
  return [...order];
}

function nameOf(moduleFile: string): string {
  return path.basename(moduleFile).replace(/\.ko(?:\.xz)?$/u, '');
}

async function writeDisk(folder: string, kernelFile: string, tool: Tool): Promise<void> {
  const at = (name: string): string => path.join(folder, name);
  writeFileSync(at('syslinux.cfg'), loaderSettings);
  copyFileSync(kernelFile, at('kernel'));
  await tool('truncate', '-s', `${partitionMebibytes}M`, at('part.raw'));
  // The boot loader needs the number of sectors before its partition.
  await tool('mkfs.vfat', '-F', '32', '-h', '2048', '-n', volumeLabel, at('part.raw'));
  await tool('syslinux', '--install', at('part.raw'));
  for (const name of ['kernel', 'ramdisk', 'syslinux.cfg']) {
    await tool('mcopy', '-i', at('part.raw'), at(name), `::/${name}`);
  }

  await tool('truncate', '-s', `${1 + partitionMebibytes}M`, at('disk.raw'));
  writeFileSync(at('table'), 'label: dos\nstart=2048, type=c, bootable\n');
  await tool('sh', '-ec', 'sfdisk --quiet "$0" <"$1"', at('disk.raw'), at('table'));
  const into = [`of=${at('disk.raw')}`, 'conv=notrunc', 'status=none'];
  await tool('dd', 'if=/usr/lib/syslinux/mbr/mbr.bin', 'bs=440', 'count=1', ...into);
  await tool('dd', `if=${at('part.raw')}`, 'bs=1M', 'seek=1', ...into);
  await tool('qemu-img', 'convert', '-c', '-O', 'qcow2', at('disk.raw'), at('tenant.qcow2'));
  for (const name of ['disk.raw', 'part.raw', 'table', 'syslinux.cfg', 'kernel', 'ramdisk']) rmSync(at(name));
}
