import { existsSync } from 'node:fs';
import path from 'node:path';

import { Failure } from '../failure.ts';
import { defaultCacheDir } from '../site.ts';

export interface CaddyOptions {
  /** Initial configuration; a configuration that was loaded later takes precedence. */
  readonly configFile: string;
  /** Parent folder of everything that Caddy writes. */
  readonly home: string;
}

/** A Caddy process. `env` sets where it stores its loaded configuration. */
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

/** Same arguments as Debian's `caddy-api` service: `--resume` continues with the last loaded configuration. */
export function caddyCommandIn(cacheDir: string, { configFile, home }: CaddyOptions): CaddyCommand {
  return {
    file: binaryIn(cacheDir),
    args: ['run', '--config', configFile, '--resume'],
    env: { HOME: home, XDG_CONFIG_HOME: path.join(home, 'config'), XDG_DATA_HOME: path.join(home, 'data') },
  };
}

export function caddyCommand(options: CaddyOptions): CaddyCommand {
  return caddyCommandIn(installedIn(), options);
}

/** The path of the installed program. */
export function caddyFile(): string {
  return binaryIn(installedIn());
}

function installedIn(): string {
  const cacheDir = defaultCacheDir();
  if (isCaddyUnpacked(cacheDir)) return cacheDir;
  throw new Failure('Caddy is not installed.', 'Run `npm run services -- up --install caddy`.');
}
