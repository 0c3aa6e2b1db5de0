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

/** The checkout this tool belongs to. */
export const repositoryRoot = fileURLToPath(new URL('../../../', import.meta.url)).replace(/\/$/u, '');

/** Far from the ephemeral range (32768 and up) and from every engine's well-known port. */
export const defaultPortBase = 17_400;

/** Engines place their ports at fixed offsets below this, so two instances need bases this far apart. */
export const portSpan = 100;

/** One instance of the engines: a state folder and the block of ports that belongs to it. */
export interface Site {
  readonly stateDir: string;
  readonly portBase: number;
  /** Downloads that outlive any state folder. */
  readonly cacheDir: string;
  readonly isRoot: boolean;
  readonly databaseInMemory?: boolean;
}

export interface SiteOptions {
  readonly stateDir?: string | undefined;
  /** `auto` is settled by `up`, for a new state folder; everybody else goes by what is recorded. */
  readonly portBase?: number | 'auto' | undefined;
  /**
   * Simulated Incus hosts keep their databases in memory, where no slow disk delays them. For tests: the databases end
   * with the hosts, so a state folder with this option cannot be used after `down` and has to be purged.
   */
  readonly databaseInMemory?: boolean | undefined;
}

const siteFile = 'instance.json';

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** Root's cache is world-readable because apt fetches as its own user; others use their own cache folder. */
export function defaultCacheDir(): string {
  return isRoot() ? '/var/cache/millrace' : path.join(homedir(), '.cache', 'millrace');
}

export function resolveStateDir(stateDir: string | undefined): string {
  return path.resolve(stateDir ?? path.join(repositoryRoot, '.millrace'));
}

/** The site as a reader sees it: the recorded port base if the folder exists, the default otherwise. */
export function openSite(options: SiteOptions): Site {
  const stateDir = resolveStateDir(options.stateDir);
  const recorded = recordedPortBase(stateDir);
  const wanted = options.portBase === 'auto' ? undefined : options.portBase;
  const differs = recorded !== undefined && wanted !== undefined && wanted !== recorded;
  if (differs && hasStartedEngines(stateDir)) {
    throw new Failure(
      `${stateDir} already uses port base ${recorded}, so it cannot change to ${wanted}.`,
      'The nodes of a cluster remember each other by port. Use another --state folder, or remove this one first with `down --purge`.',
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

export function recordedPortBase(stateDir: string): number | undefined {
  const file = path.join(stateDir, siteFile);
  if (!existsSync(file)) return undefined;
  const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'));
  if (typeof parsed === 'object' && parsed !== null && 'portBase' in parsed) {
    if (typeof parsed.portBase === 'number') return parsed.portBase;
  }
  throw new Failure(`${file} is damaged: it has no port base.`, 'Remove the folder with `down --purge`.');
}

/** Whether an engine was ever started in this folder. Until then no data depends on its ports. */
export function hasStartedEngines(stateDir: string): boolean {
  // A log is opened before its engine is started, so that a crash between the two counts as a start.
  return ['log', 'run'].some((name) => {
    const folder = path.join(stateDir, name);
    return existsSync(folder) && readdirSync(folder).length > 0;
  });
}

/** Creates the state folder; the other users that engines run as must be able to pass through it. */
export function createStateDir(stateDir: string): void {
  for (const folder of [stateDir, path.join(stateDir, 'run'), path.join(stateDir, 'log')])
    makeTraversableFolder(folder);
}

/** The same, and records the block of ports in it. */
export function createSite(site: Site): void {
  createStateDir(site.stateDir);
  if (recordedPortBase(site.stateDir) === site.portBase) return;
  const file = path.join(site.stateDir, siteFile);
  writeAtomically(file, `${JSON.stringify({ portBase: site.portBase })}\n`);
}

/** Removes the record of the block of ports, so that the next `up` may choose another. */
export function removePortBaseRecord(site: Site): void {
  rmSync(path.join(site.stateDir, siteFile), { force: true });
}

/** Whatever the umask, others may pass through the folders that we make. */
function makeTraversableFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeTraversableFolder(path.dirname(folder));
  mkdirSync(folder);
  chmodSync(folder, 0o755);
}

/** Readers never see half a file, and a crash leaves the old or the new one. */
export function writeAtomically(file: string, text: string, mode = 0o644): void {
  const draft = `${file}.${process.pid}.new`;
  writeFileSync(draft, text, { mode });
  renameSync(draft, file);
}

export function logFile(site: Site, nodeName: string): string {
  return path.join(site.stateDir, 'log', `${nodeName}.log`);
}

/**
 * The folder of one node. It is inside the state folder, except when that path cannot work: then it is a
 * short one below /var/lib/millrace and the state folder holds a symbolic link to it. `suits` decides, and
 * only for a new folder: the link is the record of what was decided.
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

/** Whether every user can pass through all folders above this one, as engines that leave root behind must. */
export function isTraversableByAll(folder: string): boolean {
  const parent = path.dirname(folder);
  if ((statSync(parent).mode & 0o001) === 0) return false;
  return parent === folder || isTraversableByAll(parent);
}

/** Where the state folder keeps this node, whether or not it exists yet. */
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

/** Removes the state folder and what was placed outside it. Everything must have been stopped. */
export function removeSite(site: Site): void {
  rmSync(externalRoot(site), { recursive: true, force: true });
  rmSync(site.stateDir, { recursive: true, force: true });
}
