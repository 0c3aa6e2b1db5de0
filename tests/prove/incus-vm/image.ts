import { execFile } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { UnsupportedHostError } from '@millrace/runners';
import { cachedBuild, type Tool } from '../builds/build-cache.ts';

const run = promisify(execFile);

const suite = 'bookworm';
const mirror = 'http://deb.debian.org/debian';
/** A minimal cloud image: cloud-init reads keys and user data, as in tenants' images. */
const packages = [
  'systemd-sysv',
  'udev',
  'dbus',
  'iproute2',
  'sudo',
  'openssh-server',
  'cloud-init',
  'linux-image-cloud-amd64',
];

/** Further files: cloud-init reads settings only from a disk, and steps that take an emulated processor minutes are left out. */
const files: Readonly<Record<string, string>> = {
  'etc/fstab': 'LABEL=root / ext4 defaults,noatime 0 1\n',
  'etc/hostname': 'unnamed\n',
  'etc/machine-id': '',
  'etc/cloud/cloud.cfg.d/90-emulated.cfg': [
    'datasource_list: [NoCloud, None]',
    'ssh_genkeytypes: [ed25519]',
    'cloud_init_modules: [write-files, set_hostname, update_hostname, users-groups, ssh]',
    'cloud_config_modules: [runcmd]',
    'cloud_final_modules: [scripts-vendor, scripts-per-instance, scripts-user, final-message]',
    '',
  ].join('\n'),
  'etc/initramfs-tools/conf.d/emulated': 'MODULES=list\nCOMPRESS=gzip\n',
  'etc/initramfs-tools/modules': 'virtio_pci\nvirtio_scsi\nsd_mod\n',
};
const masked = ['apt-daily.timer', 'apt-daily-upgrade.timer', 'e2scrub_all.timer', 'fstrim.timer'];

const kernelLine = 'root=LABEL=root rw console=ttyS0 quiet mitigations=off';
const espMebibytes = 96;
const rootMebibytes = 1_200;

export interface VmImage {
  readonly metadataFile: string;
  readonly diskFile: string;
}

/** Debian 12 with cloud-init and SSH as a UEFI-bootable disk. Built once per recipe and cached. */
export async function vmImage(cache: string, unpacked: string, tool: Tool): Promise<VmImage> {
  const recipe = readFileSync(import.meta.filename, 'utf8');
  const folder = await cachedBuild(cache, 'image', recipe, async (draft) => {
    const guest = path.join(draft, 'guest');
    await installFiles(guest);
    await writeDisk(draft, guest, unpacked, tool);
    rmSync(guest, { recursive: true });
  });
  return { metadataFile: path.join(folder, 'metadata.tar.gz'), diskFile: path.join(folder, 'disk.qcow2') };
}

async function installFiles(guest: string): Promise<void> {
  await run('debootstrap', ['--variant=minbase', suite, guest, mirror], { timeout: 900_000 }).catch(
    (error: unknown) => {
      throw new UnsupportedHostError(`debootstrap cannot install Debian from ${mirror}.`, { cause: error });
    },
  );
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(guest, name)), { recursive: true });
    writeFileSync(path.join(guest, name), text);
  }
  // Not installed by debootstrap, which does not resolve virtual packages.
  await runInImage(guest, `apt-get -qq -y --no-install-recommends install ${packages.join(' ')}`);
  await runInImage(guest, 'systemctl enable systemd-networkd');
  await runInImage(guest, `systemctl mask ${masked.join(' ')}`);
  await runInImage(
    guest,
    'update-initramfs -u && apt-get clean && rm -rf /var/lib/apt/lists/* /etc/ssh/ssh_host_*',
  );
}

/** Runs a command in the image with a private /proc. Installed services are not started. */
async function runInImage(guest: string, command: string): Promise<void> {
  const script = [
    'mount -t proc proc "$0/proc"',
    'mount --bind /dev "$0/dev"',
    String.raw`printf '#!/bin/sh\nexit 101\n' >"$0/usr/sbin/policy-rc.d"`,
    'chmod 755 "$0/usr/sbin/policy-rc.d"',
    'chroot "$0" sh -ec "$1"',
    'rm "$0/usr/sbin/policy-rc.d"',
  ].join('\n');
  const env = {
    DEBIAN_FRONTEND: 'noninteractive',
    LC_ALL: 'C.UTF-8',
    PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
  };
  const words = ['--mount', '--propagation', 'private', 'sh', '-ec', script, guest, command];
  await run('unshare', words, { env, timeout: 900_000, maxBuffer: 64 * 1_048_576 });
}

async function writeDisk(folder: string, guest: string, unpacked: string, tool: Tool): Promise<void> {
  const at = (name: string): string => path.join(folder, name);
  await run('truncate', ['-s', `${rootMebibytes}M`, at('root.raw')]);
  await run('/sbin/mkfs.ext4', ['-q', '-L', 'root', '-d', guest, at('root.raw')]);
  await writeBootPartition(at('esp.raw'), folder, guest, unpacked, tool);

  // A partition table with both partitions, and one mebibyte before and after them.
  const disk = at('disk.raw');
  await run('truncate', ['-s', `${espMebibytes + rootMebibytes + 2}M`, disk]);
  writeFileSync(
    at('table'),
    `label: gpt\nstart=1MiB,size=${espMebibytes}MiB,type=U\nsize=${rootMebibytes}MiB\n`,
  );
  await tool('sh', '-c', 'sfdisk -q "$0" <"$1"', disk, at('table'));
  for (const [part, startMebibytes] of [
    ['esp.raw', 1],
    ['root.raw', 1 + espMebibytes],
  ] as const) {
    await run('dd', [
      `if=${at(part)}`,
      `of=${disk}`,
      'bs=1M',
      `seek=${startMebibytes}`,
      'conv=notrunc,sparse',
    ]);
    rmSync(at(part));
  }
  await tool('qemu-img', 'convert', '-c', '-O', 'qcow2', disk, at('disk.qcow2'));
  rmSync(disk);

  const properties = { os: 'debian', release: suite, description: 'Debian 12 for emulated machines' };
  const metadata = { architecture: 'x86_64', creation_date: 1_700_000_000, properties };
  writeFileSync(at('metadata.yaml'), JSON.stringify(metadata));
  await run('tar', ['-C', folder, '-czf', at('metadata.tar.gz'), 'metadata.yaml']);
}

/** The boot loader at its UEFI default path, and the kernel beside it. */
async function writeBootPartition(
  partition: string,
  folder: string,
  guest: string,
  unpacked: string,
  tool: Tool,
): Promise<void> {
  const entry = ['title Debian', 'linux /vmlinuz', 'initrd /initrd', `options ${kernelLine}`, ''].join('\n');
  writeFileSync(path.join(folder, 'entry.conf'), entry);
  writeFileSync(path.join(folder, 'loader.conf'), 'timeout 0\ndefault debian.conf\n');
  const contents: Readonly<Record<string, string>> = {
    'EFI/BOOT/BOOTX64.EFI': path.join(unpacked, 'usr/lib/systemd/boot/efi/systemd-bootx64.efi'),
    'loader/loader.conf': path.join(folder, 'loader.conf'),
    'loader/entries/debian.conf': path.join(folder, 'entry.conf'),
    vmlinuz: onlyMatch(path.join(guest, 'boot/vmlinuz-*')),
    initrd: onlyMatch(path.join(guest, 'boot/initrd.img-*')),
  };
  await run('truncate', ['-s', `${espMebibytes}M`, partition]);
  await tool('mkfs.vfat', '-F', '32', partition);
  await tool('mmd', '-i', partition, '::/EFI', '::/EFI/BOOT', '::/loader', '::/loader/entries');
  for (const [name, file] of Object.entries(contents)) {
    await tool('mcopy', '-i', partition, file, `::/${name}`);
  }
}

function onlyMatch(pattern: string): string {
  const [file] = globSync(pattern).filter((found) => statSync(found).isFile());
  if (file === undefined) throw new Error(`No file matches ${pattern}.`);
  return file;
}
