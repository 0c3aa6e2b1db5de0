import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { mustRun } from '../processes.ts';

const folders = [
  'bin',
  'dev',
  'etc',
  'mnt',
  'proc',
  'root',
  'run',
  'sbin',
  'sys',
  'tmp',
  'usr/bin',
  'usr/sbin',
  'var/log',
  'var/www',
];

const metadata = {
  architecture: 'x86_64',
  // Fixed, so that the same busybox always makes the same image.
  creation_date: 1_700_000_000,
  properties: { os: 'busybox', release: '1', description: 'Busybox, one web page and a DHCP client' },
  templates: { '/etc/hostname': { when: ['create', 'copy', 'rename'], template: 'hostname.tpl' } },
};

const files: Readonly<Record<string, { readonly text: string; readonly mode: number }>> = {
  'etc/passwd': { text: 'root:x:0:0:root:/root:/bin/sh\n', mode: 0o644 },
  'etc/group': { text: 'root:x:0:\n', mode: 0o644 },
  'etc/inittab': {
    text: [
      '::sysinit:/etc/start',
      '::respawn:/bin/httpd -f -p 80 -h /var/www',
      '::ctrlaltdel:/bin/poweroff',
      '',
    ].join('\n'),
    mode: 0o644,
  },
  'etc/start': {
    text: [
      '#!/bin/sh',
      'hostname -F /etc/hostname',
      'ip link set lo up',
      'ip link set eth0 up && udhcpc -i eth0 -b -s /etc/lease >/dev/null 2>&1',
      '',
    ].join('\n'),
    mode: 0o755,
  },
  'etc/lease': {
    text: [
      '#!/bin/sh',
      'if [ "$1" = bound ] || [ "$1" = renew ]; then',
      '  ip addr flush dev "$interface"',
      '  ip addr add "$ip/${mask:-24}" dev "$interface"',
      '  for gateway in $router; do ip route add default via "$gateway"; break; done',
      'fi',
      '',
    ].join('\n'),
    mode: 0o755,
  },
  'var/www/index.html': { text: 'busybox\n', mode: 0o644 },
};

/** Builds a container image of about 1 MB around the machine's static busybox, and returns its file. */
export async function buildBusyboxImage(target: string): Promise<void> {
  const work = mkdtempSync(path.join(tmpdir(), 'millrace-image-'));
  try {
    const root = path.join(work, 'rootfs');
    for (const folder of folders) mkdirSync(path.join(root, folder), { recursive: true });
    chmodSync(path.join(root, 'tmp'), 0o1777);
    const busybox = (await mustRun('sh', ['-c', 'command -v busybox'])).trim();
    copyFileSync(busybox, path.join(root, 'bin/busybox'));
    chmodSync(path.join(root, 'bin/busybox'), 0o755);
    const applets = (await mustRun(busybox, ['--list'])).split('\n').filter((name) => name !== '');
    for (const applet of applets) {
      if (applet !== 'busybox') symlinkSync('/bin/busybox', path.join(root, 'bin', applet));
    }
    symlinkSync('/bin/busybox', path.join(root, 'sbin/init'));
    for (const [name, { text, mode }] of Object.entries(files)) {
      writeFileSync(path.join(root, name), text);
      chmodSync(path.join(root, name), mode);
    }
    // JSON is YAML, so the metadata needs no YAML writer.
    writeFileSync(path.join(work, 'metadata.yaml'), JSON.stringify(metadata, null, 2));
    mkdirSync(path.join(work, 'templates'));
    writeFileSync(path.join(work, 'templates/hostname.tpl'), '{{ container.name }}\n');
    const owner = ['--numeric-owner', '--owner=0', '--group=0', '--mode=go+rX'];
    await mustRun('tar', ['-C', work, ...owner, '-czf', target, 'metadata.yaml', 'templates', 'rootfs']);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
