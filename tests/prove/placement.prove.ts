import { createMockDriver, createPostgresStore } from '@millrace/compute/mock';
import { defineProof, type ProofReport, type ProofRun, type Random } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import { toUuid, type NodeId, type OrgId } from '@millrace/platform/ids';
import { floorDivide } from '@millrace/platform/money';
import { ensureUp } from '@millrace/services';
import {
  createOrganisation,
  createTestDatabase,
  eventually,
  killBackends,
  insertFleet,
  startProcess,
  type TestDatabase,
  type TestProcess,
} from '@millrace/testing';
import type { Client } from 'pg';
import { checkIndexes, checkInvariants } from './placement/checker.ts';
import { CLUSTER, FABRIC_SIZE, layout, NODES, REGION } from './placement/plans.ts';

const clients = 32;
const organisations = 4;

export const proof = defineProof({
  name: 'placement',
  proves:
    '32 clients place and release random machines and gangs during rollbacks, cut connections, killed processes, drains and GPUs that disappear and return. At every moment the rows, the indexes, the counts and the devices of the engine agree, and no GPU is sold to two tenants at once.',
  short: (run) => prove(run, { processes: 2, sequences: 300, kills: 3 }),
  long: (run) => prove(run, { processes: 4, sequences: 10_000, kills: 60 }),
});

interface Size {
  readonly processes: number;
  readonly sequences: number;
  readonly kills: number;
}

/** Successive processes of one client group: the current one, and the outcomes that all of them printed. */
interface ClientSlot {
  readonly cell: number;
  readonly sequences: readonly number[];
  readonly over: Set<number>;
  readonly outcomes: Map<number, string>;
  process: TestProcess;
  again: number;
}

interface PlacementSetup {
  readonly database: TestDatabase;
  readonly seed: number;
  readonly clientsInEach: number;
  readonly orgIds: readonly OrgId[];
  readonly nodeIds: readonly NodeId[];
}

interface EventCounts {
  killed: number;
  cut: number;
  drains: number;
  losses: number;
  looks: number;
  readonly failures: string[];
}

async function prove(run: ProofRun, size: Size): Promise<ProofReport> {
  await ensureUp(['postgres']);
  await using database = await createTestDatabase();
  const setting = await insertSetup(database, run.seed, floorDivide(clients, size.processes));
  const lines: ClientSlot[] = [];
  const tally: EventCounts = { killed: 0, cut: 0, drains: 0, losses: 0, looks: 0, failures: [] };
  try {
    for (let cell = 0; cell < size.processes; cell += 1) {
      const sequences = Array.from({ length: size.sequences }, (_, number) => number).filter(
        (number) => number % size.processes === cell,
      );
      const process = await startClient(setting, cell, sequences);
      lines.push({ cell, sequences, over: new Set(), outcomes: new Map(), process, again: 0 });
    }
    await Promise.all([
      killAtRandom(setting, lines, run.random.fork(1), size, tally),
      injectNodeFaults(setting, lines, run.random.fork(2), tally),
      watchInvariants(setting, lines, tally, run),
    ]);
    tally.failures.push(...(await checkFinalState(setting, lines)));
    return report(lines, size, tally, await countRows(database));
  } finally {
    for (const { process } of lines) await process.crash();
  }
}

async function insertSetup(
  database: TestDatabase,
  seed: number,
  clientsInEach: number,
): Promise<PlacementSetup> {
  const orgIds: OrgId[] = [];
  for (let made = 0; made < organisations; made += 1) orgIds.push(await createOrganisation(database.db));
  const { nodeIds } = await insertFleet(database.db, {
    nodes: NODES,
    fabricSize: FABRIC_SIZE,
    region: REGION,
    // Clusters must count as observed during the whole proof.
    watchedAt: new Date(systemClock.nowMs() + 3_600_000),
  });
  // Use the addresses that the engine has.
  await database.query(`
    update gpus set pci_address = '0000:' || lpad(to_hex(16 + 8 * (number - 1)), 2, '0') || ':00.0'
      from (select id, row_number() over (partition by node_id order by pci_address)::int as number from gpus) as counted
     where counted.id = gpus.id`);
  return { database, seed, clientsInEach, orgIds, nodeIds };
}

function startClient(
  setting: PlacementSetup,
  cell: number,
  sequences: readonly number[],
): Promise<TestProcess> {
  const { database, seed, clientsInEach, orgIds, nodeIds } = setting;
  const nodeNames = Object.fromEntries(nodeIds.map((id, index) => [id, `node-${index + 1}`]));
  const orders = { url: database.url, seed, cell, clients: clientsInEach, orgIds, nodeNames, sequences };
  return startProcess({
    name: `clients ${cell}`,
    entry: 'tests/prove/placement/client.ts',
    args: [JSON.stringify(orders)],
    env: {},
  });
}

function readOutput(line: ClientSlot): void {
  for (const [, word = '', number] of line.process.output().matchAll(/^(live|refused|over|done) (\d+)$/gm)) {
    const sequence = Number(number);
    if (word === 'live' || word === 'refused') line.outcomes.set(sequence, word);
    if (word !== 'live') line.over.add(sequence);
  }
}

const finished = (line: ClientSlot): boolean => line.process.output().includes('\nfinished');
const allFinished = (lines: readonly ClientSlot[]): boolean => lines.every(finished);

async function killAtRandom(
  setting: PlacementSetup,
  lines: readonly ClientSlot[],
  random: Random,
  size: Size,
  tally: EventCounts,
): Promise<void> {
  const doneCount = (): number => lines.reduce((sum, line) => sum + line.over.size, 0);
  while (!allFinished(lines)) {
    await systemClock.sleep(random.int(20, 120));
    for (const line of lines) readOutput(line);
    // Kills follow the number of finished sequences, not time, so that a busy machine gets as many as an idle one.
    const due = Math.min(size.kills, Math.floor((doneCount() * (size.kills + 1)) / size.sequences));
    if (tally.killed < due) {
      await killOne(setting, random.pick(lines), tally);
      tally.killed += 1;
      if (tally.killed % 3 === 1) tally.cut += await killBackends(setting.database, '%capacity%');
      if (tally.killed % 3 === 2) tally.cut += await killBackends(setting.database, '%');
    }
    for (const line of lines) {
      if (!line.process.running() && !finished(line)) {
        throw new Error(`A client process ended unexpectedly: ${line.process.output().slice(-1000)}`);
      }
    }
  }
  for (const line of lines) readOutput(line);
}

async function killOne(setting: PlacementSetup, line: ClientSlot, tally: EventCounts): Promise<void> {
  await line.process.crash();
  let received = -1;
  await eventually({ what: 'the last output of the client' }, () => {
    const before = received;
    received = line.process.output().length;
    return received === before;
  });
  readOutput(line);
  line.again += [...line.process.output().matchAll(/^again /gm)].length;
  const left = line.sequences.filter((sequence) => !line.over.has(sequence));
  if (left.length === 0) tally.killed -= 1;
  line.process = await startClient(setting, line.cell, left);
}

/** Drains nodes and marks GPUs as missing for a while. During that time they must not be sold. */
async function injectNodeFaults(
  setting: PlacementSetup,
  lines: readonly ClientSlot[],
  random: Random,
  tally: EventCounts,
): Promise<void> {
  while (!allFinished(lines)) {
    const client = await setting.database.connect();
    try {
      const node = toUuid(random.pick(setting.nodeIds));
      if (random.chance(0.5)) {
        await drainFor(client, node, random.int(20, 200), tally);
      } else {
        await loseGpuFor(client, node, random, tally);
      }
    } catch {
      // The connection was cut too. The changes are reverted below.
    } finally {
      await client.end().catch(() => undefined);
    }
    await restoreNodes(setting.database);
  }
}

async function drainFor(client: Client, node: string, ms: number, tally: EventCounts): Promise<void> {
  await client.query('update node_capacity set ready = false where node_id = $1', [node]);
  const from = systemClock.now();
  await systemClock.sleep(ms);
  const { rows } = await client.query<{ id: string }>(
    `select allocation.id from allocated_gpus as sold join allocations as allocation on allocation.id = sold.allocation_id
      where sold.node_id = $1 and allocation.created_at > $2`,
    [node, from],
  );
  for (const { id } of rows) tally.failures.push(`${id} was placed on ${node} while it was drained`);
  tally.drains += 1;
}

async function loseGpuFor(client: Client, node: string, random: Random, tally: EventCounts): Promise<void> {
  const { rows } = await client.query<{ id: string }>(
    `update gpus set state = 'missing' where id =
       (select id from gpus where node_id = $1 order by pci_address offset $2 limit 1) returning id`,
    [node, random.int(0, 7)],
  );
  const from = systemClock.now();
  await systemClock.sleep(random.int(20, 200));
  const { rows: wrong } = await client.query<{ id: string }>(
    `select allocation.id from allocated_gpus as sold join allocations as allocation on allocation.id = sold.allocation_id
      where sold.gpu_id = $1 and allocation.created_at > $2`,
    [rows[0]?.id, from],
  );
  for (const { id } of wrong) tally.failures.push(`${id} was given ${rows[0]?.id} while it was missing`);
  tally.losses += 1;
}

async function restoreNodes(database: TestDatabase): Promise<void> {
  await eventually({ what: 'nodes and GPUs to be back' }, async () => {
    const client = await database.connect();
    try {
      await client.query('update node_capacity set ready = true where not ready');
      await client.query(`update gpus set state = 'present' where state = 'missing'`);
      return true;
    } finally {
      await client.end().catch(() => undefined);
    }
  });
}

async function watchInvariants(
  setting: PlacementSetup,
  lines: readonly ClientSlot[],
  tally: EventCounts,
  run: ProofRun,
): Promise<void> {
  while (!allFinished(lines)) {
    await systemClock.sleep(400);
    const found = await checkInvariants(setting.database).catch(() => null);
    if (found === null) continue;
    tally.looks += 1;
    tally.failures.push(...found);
    if (tally.looks % 50 === 0)
      run.note(`${lines.reduce((sum, line) => sum + line.over.size, 0)} sequences finished`);
    if (tally.failures.length > 20) throw new Error(tally.failures.join('\n'));
  }
}

async function checkFinalState(
  { database }: PlacementSetup,
  lines: readonly ClientSlot[],
): Promise<string[]> {
  const failures = [...(await checkInvariants(database)), ...(await checkIndexes(database))];
  for (const { sequences, over } of lines) {
    const lost = sequences.filter((sequence) => !over.has(sequence));
    if (lost.length > 0) failures.push(`never ended: ${lost.slice(0, 10).join(', ')}`);
  }
  const driver = createMockDriver({
    cluster: CLUSTER,
    clock: systemClock,
    memory: createPostgresStore(database.db, { cluster: CLUSTER, clock: systemClock }),
    layout,
    listen: null,
  });
  const { machines } = await driver.listOwned(AbortSignal.timeout(120_000));
  await driver.close();
  if (machines.length > 0) failures.push(`${machines.length} machines still exist at the engine`);
  const { rows } = await database.query<{ sold: number }>(
    'select count(*)::int as sold from allocated_gpus where released_at is null',
  );
  if (rows[0]?.sold !== 0) failures.push(`${rows[0]?.sold} GPUs are still sold`);
  return failures;
}

async function countRows(
  database: TestDatabase,
): Promise<{ allocations: number; gangs: number; gpus: number; deadlocks: number }> {
  const client = await database.connect();
  const { rows } = await client.query(
    `select (select count(*)::int from allocations) as allocations,
            (select count(*)::int from allocations where node_count > 1) as gangs,
            (select count(*)::int from allocated_gpus) as gpus,
            (select deadlocks::int from pg_stat_database where datname = current_database()) as deadlocks`,
  );
  await client.end();
  return rows[0];
}

function report(
  lines: readonly ClientSlot[],
  size: Size,
  tally: EventCounts,
  rows: Awaited<ReturnType<typeof countRows>>,
): ProofReport {
  const outcomes = lines.flatMap((line) => [...line.outcomes.values()]);
  if (rows.deadlocks > 0) tally.failures.push(`${rows.deadlocks} deadlocks`);
  return {
    figures: {
      'concurrent clients': clients,
      'client processes': size.processes,
      sequences: size.sequences,
      'allocations made': rows.allocations,
      'of these, gangs': rows.gangs,
      'GPUs sold in total': rows.gpus,
      'refused for lack of capacity': outcomes.filter((outcome) => outcome === 'refused').length,
      'processes killed with kill -9': tally.killed,
      'connections ended by the server': tally.cut,
      drains: tally.drains,
      'GPUs missing for a while': tally.losses,
      'invariant checks during the run': tally.looks,
      deadlocks: rows.deadlocks,
      'differences between rows, indexes, counts and engine': tally.failures.length,
    },
    failures: tally.failures,
  };
}
