import fs from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { runOrThrow } from '../processes.ts';

/** A file of an image, or a folder if `text` is missing. The default owner is root. */
interface Entry {
  readonly text?: string;
  readonly mode: number;
  readonly owner?: number;
}

type Entries = Readonly<Record<string, Entry>>;

interface Contents {
  readonly description: string;
  readonly entries: Entries;
  /** Programs of this machine, copied with the libraries they load. */
  readonly programs: readonly string[];
}

function folder(mode = 0o755, owner?: number): Entry {
  return owner === undefined ? { mode } : { mode, owner };
}

function file(mode: number, ...lines: readonly string[]): Entry {
  return { text: `${lines.join('\n')}\n`, mode };
}

const base: Entries = {
  bin: folder(),
  dev: folder(),
  etc: folder(),
  mnt: folder(),
  proc: folder(),
  root: folder(0o700),
  run: folder(),
  sbin: folder(),
  sys: folder(),
  tmp: folder(0o1777),
  'usr/bin': folder(),
  'usr/sbin': folder(),
  'var/log': folder(),
  'etc/lease': file(
    0o755,
    '#!/bin/sh',
    'if [ "$1" = bound ] || [ "$1" = renew ]; then',
    '  ip addr flush dev "$interface"',
    '  ip addr add "$ip/${mask:-24}" dev "$interface"',
    '  for gateway in $router; do ip route add default via "$gateway"; break; done',
    'fi',
  ),
};

/** The boot does not wait for an address, because the host also reaches a container through a proxy to its loopback. */
const startNetwork = [
  'hostname -F /etc/hostname',
  'ip link set lo up',
  'ip link set eth0 up && udhcpc -i eth0 -b -s /etc/lease >/dev/null 2>&1 &',
];

const busyboxContents: Contents = {
  description: 'Busybox, one web page and a DHCP client',
  programs: [],
  entries: {
    ...base,
    'var/www': folder(),
    'var/www/index.html': file(0o644, 'busybox'),
    'etc/passwd': file(0o644, 'root:x:0:0:root:/root:/bin/sh'),
    'etc/group': file(0o644, 'root:x:0:'),
    'etc/start': file(0o755, '#!/bin/sh', ...startNetwork),
    'etc/inittab': file(
      0o644,
      '::sysinit:/etc/start',
      '::respawn:/bin/httpd -f -p 80 -h /var/www',
      '::ctrlaltdel:/bin/poweroff',
    ),
  },
};

const hostKey = '/etc/dropbear/ed25519';
/** The platform writes the host key here, where OpenSSH expects it, before the first boot. */
const givenHostKey = '/etc/ssh/ssh_host_ed25519_key';

const sshContents: Contents = {
  description: 'Busybox with an SSH server that takes keys only',
  programs: ['/usr/sbin/dropbear', '/usr/bin/dropbearkey', '/usr/bin/dropbearconvert'],
  entries: {
    ...base,
    home: folder(),
    'home/ubuntu': folder(0o750, 1000),
    'home/ubuntu/.ssh': folder(0o700, 1000),
    'root/.ssh': folder(0o700),
    'etc/dropbear': folder(0o700),
    'etc/millrace': folder(),
    // `*` matches no password, and `-s` disables password login.
    'etc/passwd': file(
      0o644,
      'root:*:0:0:root:/root:/bin/sh',
      'ubuntu:*:1000:1000:Ubuntu:/home/ubuntu:/bin/sh',
    ),
    'etc/group': file(0o644, 'root:x:0:', 'tty:x:5:', 'ubuntu:x:1000:'),
    'etc/shells': file(0o644, '/bin/sh'),
    'etc/profile': file(0o644, 'export PATH=/usr/sbin:/usr/bin:/sbin:/bin', "export PS1='\\u@\\h:\\w\\$ '"),
    'etc/start': file(
      0o755,
      '#!/bin/sh',
      ...startNetwork,
      // A host key in the image would be known to everyone. The rename prevents a partial key if the machine is switched off.
      `if [ ! -s ${hostKey} ]; then`,
      `  rm -f ${hostKey}.new`,
      `  if [ -s ${givenHostKey} ]; then`,
      `    dropbearconvert openssh dropbear ${givenHostKey} ${hostKey}.new >/dev/null 2>&1`,
      '  else',
      `    dropbearkey -t ed25519 -f ${hostKey}.new >/dev/null 2>&1`,
      `  fi && mv ${hostKey}.new ${hostKey}`,
      'fi',
      // Runs once. A script that fails is retried at the next boot.
      'if [ -f /etc/millrace/firstboot ]; then',
      '  sh /etc/millrace/firstboot >/var/log/firstboot.log 2>&1 &&',
      '    mv /etc/millrace/firstboot /etc/millrace/firstboot.done',
      'fi',
      // Last line of the boot, so that the console is never empty.
      'echo "$(hostname) is up"',
      'exit 0',
    ),
    'etc/inittab': file(
      0o644,
      '::sysinit:/etc/start',
      `::respawn:/usr/sbin/dropbear -F -s -m -p 22 -r ${hostKey}`,
      '::ctrlaltdel:/bin/poweroff',
    ),
  },
};

/** Builds a container image of about 1 MB from the machine's static busybox. */
export function buildBusyboxImage(target: string): Promise<void> {
  return buildImage(target, busyboxContents);
}

/** Adds an SSH server for root and an unprivileged user `ubuntu`. docs/guides/services.md describes its boot. */
export function buildSshImage(target: string): Promise<void> {
  return buildImage(target, sshContents);
}

async function buildImage(target: string, contents: Contents): Promise<void> {
  const work = fs.mkdtempSync(path.join(tmpdir(), 'millrace-image-'));
  try {
    const root = path.join(work, 'rootfs');
    makeFolders(root);
    for (const [name, entry] of Object.entries(contents.entries)) place(path.join(root, name), entry);
    await placeBusybox(root);
    for (const program of contents.programs) await placeProgram(root, program);
    // JSON is valid YAML, so no YAML writer is needed.
    fs.writeFileSync(path.join(work, 'metadata.yaml'), JSON.stringify(metadataOf(contents), null, 2));
    place(path.join(work, 'templates/hostname.tpl'), file(0o644, '{{ container.name }}'));
    const content = ['metadata.yaml', 'templates', 'rootfs'];
    await runOrThrow('tar', ['-C', work, '--numeric-owner', '-czf', target, ...content]);
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
}

function metadataOf({ description }: Contents) {
  return {
    architecture: 'x86_64',
    // A constant, so that the image does not depend on the time of its build.
    creation_date: 1_700_000_000,
    properties: { os: 'busybox', release: '1', description },
    templates: { '/etc/hostname': { when: ['create', 'copy', 'rename'], template: 'hostname.tpl' } },
  };
}

/** Sets modes explicitly, so that the caller's umask has no effect. */
function place(target: string, { text, mode, owner = 0 }: Entry): void {
  makeFolders(path.dirname(target));
  if (text === undefined) makeFolders(target);
  else fs.writeFileSync(target, text);
  fs.chmodSync(target, mode);
  fs.chownSync(target, owner, owner);
}

function makeFolders(target: string): void {
  const first = fs.mkdirSync(target, { recursive: true });
  if (first === undefined) return;
  for (let made = target; made.length >= first.length; made = path.dirname(made)) fs.chmodSync(made, 0o755);
}

async function placeBusybox(root: string): Promise<void> {
  const busybox = (await runOrThrow('sh', ['-c', 'command -v busybox'])).trim();
  copyExecutable(busybox, path.join(root, 'bin/busybox'));
  const applets = (await runOrThrow(busybox, ['--list'])).split('\n').filter((name) => name !== '');
  for (const applet of applets) {
    if (applet !== 'busybox') fs.symlinkSync('/bin/busybox', path.join(root, 'bin', applet));
  }
  fs.symlinkSync('/bin/busybox', path.join(root, 'sbin/init'));
}

async function placeProgram(root: string, program: string): Promise<void> {
  const loaded = librariesIn(await runOrThrow('ldd', [program]));
  for (const name of [program, ...loaded]) {
    const target = path.join(root, name);
    makeFolders(path.dirname(target));
    copyExecutable(name, target);
  }
}

/** The libraries in the output of `ldd`, including the loader. */
export function librariesIn(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const [, found] = /(?:^\s*|=> )(\/\S+) \(0x/u.exec(line) ?? [];
    return found === undefined ? [] : [found];
  });
}

function copyExecutable(source: string, target: string): void {
  fs.copyFileSync(source, target);
  fs.chmodSync(target, 0o755);
}
