import { existsSync } from 'node:fs';
import path from 'node:path';

import { defaultCacheDir } from '../site.ts';

export function natsFolder(cacheDir: string): string {
  return path.join(cacheDir, 'nats-server');
}

function unpackedBinary(cacheDir: string): string {
  return path.join(natsFolder(cacheDir), 'usr', 'sbin', 'nats-server');
}

export function isNatsUnpacked(cacheDir: string): boolean {
  return existsSync(unpackedBinary(cacheDir));
}

/** The unpacked nats-server, or the installed one. */
export function natsCommand(
  configFile: string,
  cacheDir: string = defaultCacheDir(),
): { readonly file: string; readonly args: readonly string[] } {
  const file = isNatsUnpacked(cacheDir) ? unpackedBinary(cacheDir) : 'nats-server';
  return { file, args: ['--config', configFile] };
}
