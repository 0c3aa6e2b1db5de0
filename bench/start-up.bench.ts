import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stageServer } from '@millrace/release';
import {
  atMost,
  defineBench,
  median,
  processorUs,
  residentMib,
  type BenchReport,
  type BenchRun,
} from '@millrace/runners';
import { ensureUp } from '@millrace/services';
import {
  createTestDatabase,
  engineEnv,
  freePorts,
  startProcess,
  startWorkerProcess,
  testNames,
  type StartProcessOptions,
  type TestDatabase,
  type TestNames,
} from '@millrace/testing';

/** Start and memory of the programs of a release, compared with their sources and with a bare server. */

const ROUNDS = 7;
const QUICK_ROUNDS = 2;
const US_IN_MS = 1_000;

interface Start {
  /** Time until the process responds to its readiness probe. */
  readonly readyMs: number;
  /** Processor time until then. Unlike the time, it hardly changes on a busy machine. */
  readonly processorMs: number;
  readonly memoryMib: number;
}

interface Installation {
  readonly database: TestDatabase;
  readonly names: TestNames;
}

type Program = (ports: readonly number[]) => StartProcessOptions;

function programs({ database, names }: Installation, release: string): Readonly<Record<string, Program>> {
  const api =
    (releaseFolder: string | null): Program =>
    ([port = 0]) => ({
      name: 'api',
      entry: 'apps/api/src/main.ts',
      env: {
        ...engineEnv({ database, names }, 'api'),
        MILLRACE_HTTP_PORT: String(port),
        MILLRACE_HTTP_PUBLIC_URL: `http://127.0.0.1:${port}`,
      },
      readyUrl: `http://127.0.0.1:${port}/readyz`,
      releaseFolder,
    });
  const gateway =
    (releaseFolder: string | null): Program =>
    ([port = 0, healthPort = 0]) => ({
      name: 'gateway',
      entry: 'apps/gateway/src/main.ts',
      env: {
        ...engineEnv({ database, names }, 'gateway'),
        MILLRACE_HTTP_PORT: String(port),
        MILLRACE_GATEWAY_HEALTH_PORT: String(healthPort),
      },
      readyUrl: `http://127.0.0.1:${healthPort}/readyz`,
      releaseFolder,
    });
  return {
    bare: ([port = 0]) => ({
      name: 'bare',
      entry: 'bench/api/baseline-server.ts',
      args: [String(port), database.url],
      env: {},
      readyUrl: `http://127.0.0.1:${port}/readyz`,
    }),
    'api source': api(null),
    'api release': api(release),
    'gateway source': gateway(null),
    'gateway release': gateway(release),
  };
}

async function measureStart(program: Program): Promise<Start> {
  const options = program(await freePorts(2));
  const startedAt = performance.now();
  await using started = await startProcess(options);
  const readyMs = performance.now() - startedAt;
  return {
    readyMs,
    processorMs: processorUs(started.pid) / US_IN_MS,
    memoryMib: residentMib(started.pid),
  };
}

async function run({ quick, note }: BenchRun): Promise<BenchReport> {
  await ensureUp(['postgres', 'valkey', 'nats', 'restate']);
  const folder = mkdtempSync(join(tmpdir(), 'millrace-start-up-'));
  try {
    await stageServer(join(folder, 'server'));
    await using database = await createTestDatabase({ isSynced: true });
    const names = testNames();
    // A gateway is ready when it has the keys, which a worker sends.
    await using worker = await startWorkerProcess({ database, names });
    if (!worker.running()) throw new Error(`The worker ended.\n${worker.output()}`);
    const sides = Object.entries(programs({ database, names }, join(folder, 'server')));
    const starts = new Map<string, Start[]>(sides.map(([name]) => [name, []]));
    // The first round fills the compile cache, as the first start after an installation does. It is not counted.
    for (let round = 0; round <= (quick ? QUICK_ROUNDS : ROUNDS); round += 1) {
      for (const [name, program] of sides) {
        const start = await measureStart(program);
        if (round > 0) starts.get(name)?.push(start);
      }
    }
    return reportOf(starts, note);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function reportOf(starts: ReadonlyMap<string, readonly Start[]>, note: BenchRun['note']): BenchReport {
  const medianOf = (name: string, field: keyof Start): number =>
    median((starts.get(name) ?? []).map((start) => start[field]));
  const ratio = (field: keyof Start, name: string, to: string): number =>
    medianOf(name, field) / medianOf(to, field);
  const figures: Record<string, number> = {};
  for (const name of starts.keys()) {
    for (const field of ['readyMs', 'processorMs', 'memoryMib'] as const) {
      figures[`${name}: ${field}`] = medianOf(name, field);
    }
    note(
      `${name}: ready after ${medianOf(name, 'readyMs').toFixed(0)} ms, ${medianOf(name, 'processorMs').toFixed(0)} ms of ` +
        `processor time (${ratio('processorMs', name, 'bare').toFixed(2)} times bare), ` +
        `${medianOf(name, 'memoryMib').toFixed(0)} MiB (${ratio('memoryMib', name, 'bare').toFixed(2)} times bare)`,
    );
  }
  const bars = (['api', 'gateway'] as const).flatMap((name) => [
    atMost(
      `processor time to start the ${name} of a release, as a share of its source`,
      1,
      ratio('processorMs', `${name} release`, `${name} source`),
    ),
    atMost(
      `memory of the ${name} of a release, as a share of its source`,
      1,
      ratio('memoryMib', `${name} release`, `${name} source`),
    ),
  ]);
  return { figures, bars };
}

export const bench = defineBench({
  name: 'start-up',
  about: 'Start and memory of api and gateway from a release and from source, compared with a bare server.',
  counts: null,
  run,
});
