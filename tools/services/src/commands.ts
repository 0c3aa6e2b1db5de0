import { existsSync } from 'node:fs';
import path from 'node:path';

import {
  activeTopology,
  readEndpoints,
  writeEndpoints,
  type Endpoints,
  type EndpointsChange,
} from './endpoints.ts';
import type { Engine, Group, NodeSpec, Note, Topology } from './engine.ts';
import { engineNamed, engines } from './engines/index.ts';
import { Failure, messageOf } from './failure.ts';
import { prepareInstallation, runInstallation } from './install/install.ts';
import { describeRequirement, type Requirement } from './install/requirements.ts';
import { shellLine } from './install/steps.ts';
import { withLock } from './lock.ts';
import { caFile, ensureAuthority, issueServerCertificate } from './secure/site-tls.ts';
import type { SecureEndpoints } from './secure/secure-endpoints.ts';
import { liveRecord } from './records.ts';
import { claimChosenBlock, claimFreeBlock, releaseClaim } from './port-claims.ts';
import {
  createSite,
  createStateDir,
  defaultPortBase,
  removePortBaseRecord,
  hasStartedEngines,
  knownHome,
  openSite,
  recordedPortBase,
  removeSite,
  type Site,
  type SiteOptions,
} from './site.ts';
import {
  clientPort,
  groupOf,
  killGroupNode,
  stopGroup,
  stopGroupNode,
  startGroup,
  startGroupNode,
  takenPort,
} from './supervisor.ts';
import { elapsedMs, formatSeconds } from './time.ts';

export type EngineNote = (engine: string, message: string) => void;

const silent: EngineNote = () => {};

export interface SiteCommandOptions extends SiteOptions {
  readonly note?: EngineNote | undefined;
}

export interface UpOptions extends SiteCommandOptions {
  /** Default: the topology of the last `up`. */
  readonly topology?: Topology | undefined;
  readonly install?: boolean | undefined;
}

export interface EngineOutcome {
  readonly engine: Engine;
  readonly result: 'already' | 'started' | 'skipped' | 'failed';
  readonly elapsedMs: number;
  readonly failure?: Failure;
}

/** Starts engines in parallel, by default all without `onlyByName`. A failed engine is an outcome, not an exception. */
export async function up(names: readonly string[], options: UpOptions = {}): Promise<EngineOutcome[]> {
  const note = options.note ?? silent;
  const usual = engines.filter((engine) => engine.onlyByName !== true);
  const wanted = names.length === 0 ? usual : names.map(engineNamed);
  // Also open the site before taking the lock, so that invalid options are refused before any folder is created.
  const { stateDir } = openSite(options);
  createStateDir(stateDir);
  return withLock(lockFile(stateDir), lockNote(note), async () => {
    // The previous holder of the lock may have been `down --purge`.
    createStateDir(stateDir);
    const site = await prepareSite(options);
    const active = activeTopologies(site, wanted, options.topology);
    const able = wanted.filter((engine) => engine.obstacle?.(site) == null);
    const groups = able.map((engine) => groupOf(site, engine, active[engine.name]));
    if (!hasStartedEngines(stateDir)) {
      const refused = await checkPortBlock(site, groups);
      if (refused !== null) return refused;
    }
    createSite(site);
    if (site.secure === true) await ensureAuthority(site);
    const blocked = wanted
      .filter((engine) => !able.includes(engine))
      .map((engine) => blockedOutcome(engine, site, names.includes(engine.name)));
    const missing = await missingRequirements(site, able, options.install === true, note);
    const outcomes = await Promise.all(
      groups.map((group) => startEngine(group, missing.get(group.engine), note)),
    );
    writeEndpoints(site, endpointsChange(site, active, options.topology));
    return [...outcomes, ...blocked];
  });
}

/** Installs the requirements of engines (by default of all) and starts nothing. */
export async function install(names: readonly string[], options: SiteCommandOptions = {}): Promise<void> {
  const wanted = names.length === 0 ? engines : names.map(engineNamed);
  const site = openSite(options);
  const able = wanted.filter((engine) => engine.obstacle?.(site) == null);
  const [missing] = (await missingRequirements(site, able, true, options.note ?? silent)).values();
  if (missing !== undefined) throw missing;
}

type ActiveTopologies = Readonly<Record<string, Topology>>;

/** The wanted engines change to the requested topology; the others keep theirs. */
function activeTopologies(site: Site, wanted: readonly Engine[], topology?: Topology): ActiveTopologies {
  const chosen = (engine: Engine): Topology =>
    (wanted.includes(engine) ? topology : undefined) ?? activeTopology(site, engine.name);
  return Object.fromEntries(engines.map((engine) => [engine.name, chosen(engine)]));
}

function endpointsChange(site: Site, active: ActiveTopologies, requested?: Topology): EndpointsChange {
  const used = new Set([...Object.values(active), ...(requested === undefined ? [] : [requested])]);
  const byTopology = [...used].map((topology) => [topology, collectEndpoints(site, () => topology)] as const);
  const current = collectEndpoints(site, (engine) => active[engine.name]);
  return { active, current, ...Object.fromEntries(byTopology) };
}

/** A new state folder gets the chosen block of ports or a free one; an existing folder keeps its block. */
async function prepareSite(options: SiteOptions): Promise<Site> {
  const site = openSite(options);
  const settled = recordedPortBase(site.stateDir) !== undefined && hasStartedEngines(site.stateDir);
  if (options.portBase === 'auto' && !settled) {
    return { ...site, portBase: await claimFreeBlock(site, defaultPortBase) };
  }
  await claimChosenBlock(site, site.portBase);
  return site;
}

/**
 * If a port of its block is taken, a new state folder starts nothing and saves no port base: the next `up` may choose another.
 */
async function checkPortBlock(site: Site, groups: readonly Group[]): Promise<EngineOutcome[] | null> {
  const taken = await Promise.all(groups.map(takenPort));
  if (taken.every((failure) => failure === null)) return null;
  removePortBaseRecord(site);
  await releaseClaim(site);
  return groups.map(({ engine }, index) => {
    const failure = taken[index];
    if (failure == null) {
      const reason = new Failure('a port of another engine is taken.', 'See the failure below.');
      return { engine, result: 'skipped', elapsedMs: 0, failure: reason };
    }
    const remedy = 'No engine was started. Add `--port-base auto` to use free ports, or stop that process.';
    return { engine, result: 'failed', elapsedMs: 0, failure: new Failure(failure.message, remedy) };
  });
}

/** An engine that cannot run on this machine is skipped, unless the caller named it. */
function blockedOutcome(engine: Engine, site: Site, named: boolean): EngineOutcome {
  const failure = new Failure(engine.obstacle?.(site) ?? '', 'The other engines do not need it.');
  return { engine, result: named ? 'failed' : 'skipped', elapsedMs: 0, failure };
}

async function startEngine(
  group: Group,
  missing: Failure | undefined,
  note: EngineNote,
): Promise<EngineOutcome> {
  const started = elapsedMs();
  const { engine } = group;
  try {
    if (missing !== undefined) throw missing;
    const result = await startGroup(group, (message) => note(engine.name, message));
    const took = elapsedMs() - started;
    const ports = group.nodes.map(clientPort).join(', ');
    const place = ports === '' ? '' : ` on ${ports}`;
    note(
      engine.name,
      result === 'already' ? `already ready${place}` : `ready${place} after ${formatSeconds(took)}`,
    );
    return { engine, result, elapsedMs: took };
  } catch (error) {
    const failure = error instanceof Failure ? error : new Failure(messageOf(error), 'See its log.');
    return { engine, result: 'failed', elapsedMs: elapsedMs() - started, failure };
  }
}

/** Installs missing requirements if `install` is set; otherwise returns, for each engine, the commands to type. */
async function missingRequirements(
  site: Site,
  wanted: readonly Engine[],
  install: boolean,
  note: EngineNote,
): Promise<Map<Engine, Failure>> {
  const incomplete = await enginesMissingRequirements(site, wanted);
  if (incomplete.length === 0) return new Map();
  if (install) {
    const steps = prepareInstallation(
      site,
      incomplete.flatMap(({ needs }) => needs),
    );
    await runInstallation(site, steps, (message) => note('install', message));
    const still = await enginesMissingRequirements(site, wanted);
    return new Map(still.map((item) => [item.engine, stillMissingError(item.needs)]));
  }
  return new Map(incomplete.map(({ engine, needs }) => [engine, installHint(site, needs)]));
}

async function enginesMissingRequirements(
  site: Site,
  wanted: readonly Engine[],
): Promise<{ engine: Engine; needs: readonly Requirement[] }[]> {
  const all = await Promise.all(wanted.map(async (engine) => ({ engine, needs: await engine.needs(site) })));
  return all.filter(({ needs }) => needs.length > 0);
}

function installHint(site: Site, needs: readonly Requirement[]): Failure {
  const what = needs.map(describeRequirement).join(', ');
  try {
    const lines = prepareInstallation(site, needs).map((step) => `  ${shellLine(step)}`);
    return new Failure(
      `not installed: ${what}.`,
      `Add --install to install them, or run:\n${lines.join('\n')}`,
    );
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

function stillMissingError(needs: readonly Requirement[]): Failure {
  return new Failure(
    `Still missing after the installation: ${needs.map(describeRequirement).join(', ')}.`,
    'See install.log in the cache folder.',
  );
}

function collectEndpoints(site: Site, topologyOf: (engine: Engine) => Topology | undefined): Endpoints {
  const groups = engines.map((engine) => groupOf(site, engine, topologyOf(engine)));
  const endpoints = groups.map((group) => group.engine.endpoints(group));
  const collected = Object.assign({}, ...endpoints) as Partial<Endpoints>;
  if (!isComplete(collected)) throw new Error('an engine returned no endpoint');
  return site.secure === true ? { ...collected, secure: collectSecureEndpoints(site, groups) } : collected;
}

function collectSecureEndpoints(site: Site, groups: readonly Group[]): SecureEndpoints {
  const endpoints = groups.map((group) => group.engine.secureEndpoints?.(group) ?? {});
  return Object.assign({ caFile: caFile(site) }, ...endpoints) as SecureEndpoints;
}

function isComplete(collected: Partial<Endpoints>): collected is Endpoints {
  const { postgresUrl, valkeyUrl, natsUrls, restate } = collected;
  return [postgresUrl, valkeyUrl, natsUrls, restate].every((part) => part !== undefined);
}

/** Starts engines for tests and other tools; throws one failure that lists all that failed. */
export async function ensureUp(names: readonly string[], options: UpOptions = {}): Promise<Endpoints> {
  const outcomes = await up(names, options);
  const failures = outcomes.flatMap(({ result, failure }) =>
    result === 'failed' && failure !== undefined ? [failure] : [],
  );
  if (failures.length > 0) {
    throw new Failure(
      failures.map((failure) => failure.message).join('\n'),
      failures.map((failure) => failure.remedy).join('\n'),
      failures.map((failure) => failure.logTail).join('\n'),
    );
  }
  return readEndpoints(options.stateDir, options.topology);
}

export interface DownOptions extends SiteCommandOptions {
  /** Default: both topologies. */
  readonly topology?: Topology | undefined;
  readonly purge?: boolean | undefined;
}

export async function down(names: readonly string[], options: DownOptions = {}): Promise<number> {
  const note = options.note ?? silent;
  const wanted = names.length === 0 ? engines : names.map(engineNamed);
  if (options.purge === true && (names.length > 0 || options.topology !== undefined)) {
    throw new Failure(
      '--purge deletes the whole state folder.',
      'Use it without names, --single and --cluster.',
    );
  }
  const site = openSite(options);
  if (!existsSync(site.stateDir)) return 0;
  return withLock(lockFile(site.stateDir), lockNote(note), async () => {
    const counts = await Promise.all(
      wanted.flatMap((engine) =>
        engine.topologies
          .filter((topology) => options.topology === undefined || topology === options.topology)
          .map((topology) =>
            stopGroup(groupOf(site, engine, topology), (message) => note(engine.name, message)),
          ),
      ),
    );
    if (options.purge === true) {
      removeSite(site);
      await releaseClaim(site);
    }
    return counts.reduce((sum, count) => sum + count, 0);
  });
}

function lockFile(stateDir: string): string {
  return path.join(stateDir, 'lock');
}

function lockNote(note: EngineNote): Note {
  return (message) => note('lock', message);
}

export function findNode(site: Site, name: string): { group: Group; node: NodeSpec } {
  for (const engine of engines) {
    for (const topology of engine.topologies) {
      const group = groupOf(site, engine, topology);
      const node = group.nodes.find((candidate) => candidate.name === name);
      if (node !== undefined) return { group, node };
    }
  }
  throw new Failure(`There is no node called ${name}.`, `\`status\` lists the names.`);
}

async function withNode<T>(
  name: string,
  options: SiteCommandOptions,
  work: (group: Group, node: NodeSpec, note: Note) => Promise<T>,
): Promise<T> {
  const site = openSite(options);
  const note = options.note ?? silent;
  const { group, node } = findNode(site, name);
  createSite(site);
  return withLock(lockFile(site.stateDir), lockNote(note), () =>
    work(group, node, (message) => note(group.engine.name, message)),
  );
}

export function startNode(name: string, options: SiteCommandOptions = {}): Promise<void> {
  return withNode(name, options, startGroupNode);
}

export async function stopNode(name: string, options: SiteCommandOptions = {}): Promise<void> {
  await withNode(name, options, stopGroupNode);
}

/** Gives a running node of a secure site another certificate of the same authority, without a restart. */
export function replaceCertificate(name: string, options: SiteCommandOptions = {}): Promise<void> {
  return withNode(name, options, async (group, node) => {
    const { site, engine } = group;
    const record = liveRecord(site, node.name);
    if (site.secure !== true || record === null || engine.reloadCertificate === undefined) {
      throw new Failure(
        `${name} serves no certificate that could be replaced.`,
        'Start it with `up --secure`.',
      );
    }
    await issueServerCertificate(site, knownHome(site, node.name));
    await engine.reloadCertificate(group, node, record.pid);
  });
}

/** For fault injection, like startNode and stopNode. */
export function killNode(name: string, options: SiteCommandOptions = {}): Promise<void> {
  return withNode(name, options, killGroupNode);
}
