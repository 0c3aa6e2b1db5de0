import { productFolder } from '@millrace/platform/release';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { normalizeTree, sizeOf } from './files.ts';
import { installTree, INSTALL_FOLDER } from './install-tree.ts';

const KIB = 1_024;

export interface DebianPackageInput {
  readonly version: string;
  /** Folder of `stageServer`. */
  readonly server: string;
  /** Folder of `stageCli`. */
  readonly cli: string;
  /** Time of all files, in seconds. */
  readonly time: number;
  readonly into: string;
}

/** Makes `millrace-server_VERSION_amd64.deb`: the programs, Node, units and system users. */
export function makeDebianPackage({ version, server, cli, time, into }: DebianPackageInput): void {
  const root = fs.mkdtempSync(path.join(into, '.deb-'));
  try {
    installTree({ root, server, cli });
    addSystemFiles(root);
    const bytes = sizeOf(root);
    addControlFiles(root, { version, bytes });
    normalizeTree(root, time);
    const file = path.join(into, `millrace-server_${version}_amd64.deb`);
    const flags = ['--root-owner-group', '-Zxz', '-z1', '--build', root, file];
    // With this variable, dpkg-deb uses no time of its own.
    const env = { ...process.env, SOURCE_DATE_EPOCH: String(time) };
    execFileSync('dpkg-deb', flags, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  } finally {
    fs.rmSync(root, { recursive: true, force: true });
  }
}

/** Files outside the product's own folder. */
function addSystemFiles(root: string): void {
  const units = path.join(productFolder, 'deploy/systemd');
  fs.cpSync(units, path.join(root, 'usr/lib/systemd/system'), {
    recursive: true,
    filter: (file) => path.basename(file) !== 'sysusers.conf',
  });
  copy(path.join(units, 'sysusers.conf'), path.join(root, 'usr/lib/sysusers.d/millrace.conf'));
  for (const command of ['millrace', 'millrace-admin']) {
    copy(path.join(productFolder, 'deploy/debian', command), path.join(root, 'usr/bin', command));
  }
  const documents = path.join(root, 'usr/share/doc/millrace-server');
  copy(path.join(productFolder, 'CHANGELOG.md'), path.join(documents, 'CHANGELOG.md'));
  copy(path.join(productFolder, 'LICENSE'), path.join(documents, 'copyright'));
  // Messages of millrace-admin name files in docs/.
  for (const folder of ['guides', 'runbooks']) {
    fs.cpSync(path.join(productFolder, 'docs', folder), path.join(documents, 'docs', folder), {
      recursive: true,
    });
  }
  fs.mkdirSync(path.join(root, 'etc/millrace'), { recursive: true });
}

function addControlFiles(root: string, of: { readonly version: string; readonly bytes: number }): void {
  const control = path.join(root, 'DEBIAN');
  fs.mkdirSync(control);
  fs.writeFileSync(path.join(control, 'control'), controlText(of));
  for (const script of ['postinst', 'prerm', 'postrm']) {
    copy(path.join(productFolder, 'deploy/debian', script), path.join(control, script));
  }
}

function controlText({ version, bytes }: { readonly version: string; readonly bytes: number }): string {
  return [
    'Package: millrace-server',
    `Version: ${version}`,
    'Architecture: amd64',
    'Maintainer: Millrace developers <packages@millrace.example>',
    `Installed-Size: ${String(Math.ceil(bytes / KIB))}`,
    'Section: admin',
    'Priority: optional',
    // Node: libc6, libstdc++6. init: openssl. Backups: postgresql-client. Reload of the proxy: procps.
    'Depends: libc6 (>= 2.28), libstdc++6, openssl, postgresql-client, procps, systemd (>= 252)',
    'Recommends: haproxy (>= 2.6), postgresql (>= 15), valkey-server (>= 8)',
    'Description: GPU cloud: rentals, volumes, a marketplace and inference on one ledger',
    ` The processes of Millrace for one machine, with Node.js in ${INSTALL_FOLDER}.`,
    ' Prepare the machine with "millrace-admin init".',
    '',
  ].join('\n');
}

function copy(from: string, to: string): void {
  fs.mkdirSync(path.dirname(to), { recursive: true });
  fs.copyFileSync(from, to);
}
