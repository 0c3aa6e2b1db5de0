import { productFolder } from '@millrace/platform/release';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

/** The folder of the product, on a machine and in the image. */
export const INSTALL_FOLDER = '/usr/lib/millrace';

export interface InstallTreeInput {
  readonly root: string;
  /** Folder of `stageServer`. */
  readonly server: string;
  /** Folder of `stageCli`. */
  readonly cli: string;
}

/** Writes the product's folder below `root`: programs, Node, the tenants' command, configuration of HAProxy and Patroni, and files for monitoring. */
export function installTree({ root, server, cli }: InstallTreeInput): void {
  const product = path.join(root, INSTALL_FOLDER);
  fs.cpSync(server, product, { recursive: true });
  fs.cpSync(cli, path.join(product, 'cli'), { recursive: true });
  for (const folder of ['deploy/proxy', 'deploy/patroni', 'deploy/pgbackrest', 'deploy/monitoring']) {
    fs.cpSync(path.join(productFolder, folder), path.join(product, folder), { recursive: true });
  }
  const node = pinnedNode();
  for (const file of ['bin/node', 'LICENSE']) {
    const to = path.join(product, 'node', file);
    fs.mkdirSync(path.dirname(to), { recursive: true });
    fs.copyFileSync(path.join(node.folder, file), to);
  }
}

/** The runtime that the lockfile pins. Only Linux on x86-64 has it. */
export function pinnedNode(): { readonly folder: string; readonly version: string } {
  const manifest = createRequire(import.meta.url).resolve('node24/package.json');
  const { version } = JSON.parse(fs.readFileSync(manifest, 'utf8')) as { version: string };
  return { folder: path.dirname(manifest), version };
}
