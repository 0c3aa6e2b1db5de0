import { existsSync } from 'node:fs';
import path from 'node:path';

import { Failure } from '../failure.ts';
import { defaultCacheDir } from '../site.ts';

export interface CaddyOptions {
  /** What it begins with; what was loaded into it since counts more. */
  readonly configFile: string;
  /** Everything that it writes is below this folder. */
  readonly home: string;
}

/** A Caddy as a process. `env` says where it keeps what was loaded into it. */
export interface CaddyCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export function caddyFolder(cacheDir: string): string {
  return path.join(cacheDir, 'caddy');
}

function binaryIn(cacheDir: string): string {
  return path.join(caddyFolder(cacheDir), 'usr', 'bin', 'caddy');
}

export function isCaddyUnpacked(cacheDir: string): boolean {
  return existsSync(binaryIn(cacheDir));
}

/** As Debian's own service for a configuration that comes over the admin API: a restart goes on with the last one. */
export function caddyCommandIn(cacheDir: string, { configFile, home }: CaddyOptions): CaddyCommand {
  return {
    file: binaryIn(cacheDir),
    args: ['run', '--config', configFile, '--resume'],
    env: { HOME: home, XDG_CONFIG_HOME: path.join(home, 'config'), XDG_DATA_HOME: path.join(home, 'data') },
  };
}

/** For programs that start one of their own. */
export function caddyCommand(options: CaddyOptions): CaddyCommand {
  const cacheDir = defaultCacheDir();
  if (isCaddyUnpacked(cacheDir)) return caddyCommandIn(cacheDir, options);
  throw new Failure('Caddy is not installed.', 'Run `npm run services -- up --install caddy`.');
}
