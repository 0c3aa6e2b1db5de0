import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { Failure } from './failure.ts';

export const repositoryRoot = fileURLToPath(new URL('../../../', import.meta.url)).replace(/\/$/u, '');

/** Below the ephemeral range (32768 and up) and away from the well-known ports of the engines. */
export const defaultPortBase = 17_400;

/** Engines use fixed port offsets below this number, so sites need bases this far apart. */
export const portSpan = 100;

/** One set of local engines: a state folder and its block of ports. */
export interface Site {
  readonly stateDir: string;
  readonly portBase: number;
  /** Downloads, which outlive state folders. */
  readonly cacheDir: string;
  readonly isRoot: boolean;
  readonly databaseInMemory?: boolean;
  /** Engines require TLS and credentials. */
  readonly secure?: boolean;
}

export interface SiteOptions {
  readonly stateDir?: string | undefined;
  /** Only `up` resolves `auto`, for a new state folder; other commands use the recorded port base. */
  readonly portBase?: number | 'auto' | undefined;
  /**
   * Keeps databases of simulated Incus hosts in memory, so that a slow disk does not delay tests. After `down`, purge the folder.
   */
  readonly databaseInMemory?: boolean | undefined;
  /** Only for a new state folder. Default: as recorded. */
  readonly secure?: boolean | undefined;
}

const siteFile = 'instance.json';

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** Other users can read root's cache, because apt downloads as a separate user. */
export function defaultCacheDir(): string {
  return isRoot() ? '/var/cache/millrace' : path.join(homedir(), '.cache', 'millrace');
}

export function resolveStateDir(stateDir: string | undefined): string {
  return path.resolve(stateDir ?? path.join(repositoryRoot, '.millrace'));
}

export function openSite(options: SiteOptions): Site {
  const stateDir = resolveStateDir(options.stateDir);
  const record = readSiteRecord(stateDir);
  const recorded = record?.portBase;
  const wanted = options.portBase === 'auto' ? undefined : options.portBase;
  const differs = recorded !== undefined && wanted !== undefined && wanted !== recorded;
  if (differs && hasStartedEngines(stateDir)) {
    throw new Failure(
      `${stateDir} already uses port base ${recorded}, so it cannot change to ${wanted}.`,
      'The nodes of a cluster remember each other by port. Use another --state folder, or remove this one first with `down --purge`.',
    );
  }
  if (options.secure === true && record?.secure === false && hasStartedEngines(stateDir)) {
    throw new Failure(
      `${stateDir} was created without --secure.`,
      'Use another --state folder, or remove this one first with `down --purge`.',
    );
  }
  const portBase = wanted ?? recorded ?? defaultPortBase;
  assertPortBase(portBase);
  return {
    stateDir,
    portBase,
    cacheDir: defaultCacheDir(),
    isRoot: isRoot(),
    databaseInMemory: options.databaseInMemory === true,
    secure: options.secure ?? record?.secure ?? false,
  };
}

export function assertPortBase(portBase: number): void {
  if (!Number.isInteger(portBase) || portBase < 1024 || portBase + portSpan > 32_768) {
    throw new Failure(
      `Port base ${portBase} is out of range.`,
      `Choose a whole number from 1024 to ${32_768 - portSpan}: ${portSpan} ports are used, below the kernel's ephemeral range.`,
    );
  }
}

interface SiteRecord {
  readonly portBase: number;
  readonly secure: boolean;
}

export function recordedPortBase(stateDir: string): number | undefined {
  return readSiteRecord(stateDir)?.portBase;
}

function readSiteRecord(stateDir: string): SiteRecord | undefined {
  const file = path.join(stateDir, siteFile);
  if (!existsSync(file)) return undefined;
  const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'));
  if (typeof parsed === 'object' && parsed !== null && 'portBase' in parsed) {
    const secure = 'secure' in parsed && parsed.secure === true;
    if (typeof parsed.portBase === 'number') return { portBase: parsed.portBase, secure };
  }
  throw new Failure(`${file} is damaged: it has no port base.`, 'Remove the folder with `down --purge`.');
}

/** Whether an engine was ever started in this folder. Before that, no data depends on its ports. */
export function hasStartedEngines(stateDir: string): boolean {
  // The log is opened before its engine starts, so a crash between the two counts as a start.
  return ['log', 'run'].some((name) => {
    const folder = path.join(stateDir, name);
    return existsSync(folder) && readdirSync(folder).length > 0;
  });
}

/** Creates the state folder. Engines that run as other users must be able to traverse it. */
export function createStateDir(stateDir: string): void {
  for (const folder of [stateDir, path.join(stateDir, 'run'), path.join(stateDir, 'log')])
    makeTraversableFolder(folder);
}

export function createSite(site: Site): void {
  createStateDir(site.stateDir);
  const wanted: SiteRecord = { portBase: site.portBase, secure: site.secure === true };
  const recorded = readSiteRecord(site.stateDir);
  if (recorded?.portBase === wanted.portBase && recorded.secure === wanted.secure) return;
  writeAtomically(path.join(site.stateDir, siteFile), `${JSON.stringify(wanted)}\n`);
}

/** Lets the next `up` choose another block of ports. */
export function removePortBaseRecord(site: Site): void {
  rmSync(path.join(site.stateDir, siteFile), { force: true });
}

/** Sets the mode explicitly, because the umask could forbid traversal by other users. */
function makeTraversableFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeTraversableFolder(path.dirname(folder));
  mkdirSync(folder);
  chmodSync(folder, 0o755);
}

/** Readers never see a partial file, and a crash leaves either the old or the new one. */
export function writeAtomically(file: string, text: string, mode = 0o644): void {
  const draft = `${file}.${process.pid}.new`;
  writeFileSync(draft, text, { mode });
  renameSync(draft, file);
}

export function logFile(site: Site, nodeName: string): string {
  return path.join(site.stateDir, 'log', `${nodeName}.log`);
}

/**
 * The folder of one node: in the state folder if `suits` accepts the path, otherwise below /var/lib/millrace with a symbolic
 * link.
 * `suits` is called only for a new folder; the link records the decision.
 */
export function nodeHome(
  site: Site,
  nodeName: string,
  suits: (folder: string) => boolean = () => true,
): string {
  const wanted = path.join(site.stateDir, nodeName);
  const existing = lstatSync(wanted, { throwIfNoEntry: false });
  if (existing !== undefined) {
    if (existing.isSymbolicLink()) makeTraversableFolder(externalHome(site, nodeName));
    return realpathSync(wanted);
  }
  if (suits(wanted)) {
    makeTraversableFolder(wanted);
    return wanted;
  }
  const outside = externalHome(site, nodeName);
  makeTraversableFolder(outside);
  symlinkSync(outside, wanted);
  return outside;
}

/** Whether every user can traverse all parent folders, which engines that drop root need. */
export function isTraversableByAll(folder: string): boolean {
  const parent = path.dirname(folder);
  if ((statSync(parent).mode & 0o001) === 0) return false;
  return parent === folder || isTraversableByAll(parent);
}

export function knownHome(site: Site, nodeName: string): string {
  const wanted = path.join(site.stateDir, nodeName);
  return existsSync(wanted) ? realpathSync(wanted) : wanted;
}

function externalHome(site: Site, nodeName: string): string {
  return path.join(externalRoot(site), nodeName);
}

function externalRoot(site: Site): string {
  const tag = createHash('sha256').update(site.stateDir).digest('hex').slice(0, 12);
  return path.join('/var/lib/millrace', tag);
}

/** Deletes the state folder and node folders outside it. All engines must be stopped. */
export function removeSite(site: Site): void {
  rmSync(externalRoot(site), { recursive: true, force: true });
  rmSync(site.stateDir, { recursive: true, force: true });
}
