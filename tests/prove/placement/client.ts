import { writeSync } from 'node:fs';
import { createMockDriver, createPostgresStore } from '@millrace/compute/mock';
import {
  findPlacement,
  markReleasing,
  place,
  releaseAllocation,
  type Placement,
  type PlacementRequest,
} from '@millrace/core/fleet';
import { systemClock } from '@millrace/platform/clock';
import { createDb, type Tx } from '@millrace/platform/db';
import { isFault } from '@millrace/platform/fault';
import { createIdSource, fromUuid, toUuid, type AllocationId, type OrgId } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { Pool } from 'pg';
import { CLUSTER, layout, planOf, REGION, type Plan } from './plans.ts';

/**
 * A process with several clients, killed at any point. Each sequence is placed, created at the engine and later released. The
 * next process repeats sequences that were not reported as done; rows and engine show how far they came.
 */

interface ClientConfig {
  readonly url: string;
  readonly seed: number;
  readonly cell: number;
  readonly clients: number;
  readonly orgIds: readonly OrgId[];
  readonly nodeNames: Readonly<Record<string, string>>;
  readonly sequences: readonly number[];
}

const config = JSON.parse(process.argv[2] ?? '{}') as ClientConfig;
const db = createDb({
  url: config.url,
  poolSize: config.clients + 2,
  applicationName: 'placement-client',
  ids: createIdSource({ clock: systemClock, cell: config.cell }),
  log: createLogger({ name: 'client', level: 'silent' }),
});
const pool = new Pool({ connectionString: config.url, max: 2 });
pool.on('error', () => undefined);
const driver = createMockDriver({
  cluster: CLUSTER,
  clock: systemClock,
  memory: createPostgresStore(db, { cluster: CLUSTER, clock: systemClock }),
  layout,
  listen: null,
});

/** Synchronous, because output that the kernel has accepted survives a kill of the process. */
const print = (line: string): void => void writeSync(1, `${line}\n`);
const soon = (): AbortSignal => AbortSignal.timeout(120_000);
const committed = { name: 'place', isolation: 'read committed' } as const;

interface LiveSequence {
  readonly sequence: number;
  readonly plan: Plan;
  readonly orgId: OrgId;
}

function orgOf(plan: Plan): OrgId {
  const orgId = config.orgIds[plan.organisation];
  if (orgId === undefined) throw new Error('The plan names an organisation that does not exist.');
  return orgId;
}

const placementRequest = (plan: Plan): PlacementRequest => ({
  orgId: orgOf(plan),
  externalId: plan.externalId,
  holder: 'rental',
  mode: 'live',
  offer: 'virtual-machine',
  region: REGION,
  gpuType: 'h100',
  connectionType: 'ethernet',
  cuda: null,
  gpusPerNode: plan.gpusPerNode,
  nodeCount: plan.nodeCount,
  except: [],
  only: null,
  ports: [
    { internalPort: 22, protocol: 'tcp' },
    ...(plan.udpPort ? [{ internalPort: 53, protocol: 'udp' } as const] : []),
  ],
  freesAt: null,
});

/** One machine per node, named by the allocation's id and its index in the gang. */
const machineOf = ({ plan, orgId }: LiveSequence, index: number) => ({
  externalId: `${plan.externalId}-${index}`,
  orgId,
});

async function createMachines(live: LiveSequence, { nodes }: Placement): Promise<void> {
  for (const [index, node] of nodes.entries()) {
    await driver.create(
      {
        ...machineOf(live, index),
        mode: 'live',
        nodeName: config.nodeNames[node.nodeId] ?? '',
        gpuPciAddresses: node.gpus.map(({ pciAddress }) => pciAddress),
        cpuCount: 8,
        ramMb: 65_536,
        diskGb: 100,
        image: 'proof',
        hostname: 'proof',
        sshKeys: [],
        userData: null,
        ports: node.ports,
        labels: {},
      },
      soon(),
    );
  }
}

async function reservePlacement(live: LiveSequence, tx: Tx): Promise<Placement> {
  return place(tx, placementRequest(live.plan));
}

class IntentionalRollback extends Error {}

async function placeOnce(live: LiveSequence): Promise<Placement> {
  if (live.plan.rollsBackFirst) {
    const undone = db.transaction(committed, async (tx) => {
      await reservePlacement(live, tx);
      throw new IntentionalRollback();
    });
    await undone.catch((error: unknown) => {
      if (!(error instanceof IntentionalRollback)) throw error;
    });
  }
  return db.transaction(committed, (tx) => reservePlacement(live, tx));
}

/** How far an earlier process came, according to the rows. */
async function stateOf({ plan, orgId }: LiveSequence): Promise<{ id: AllocationId; state: string } | null> {
  const { rows } = await pool.query<{ id: string; state: string }>(
    'select id, state from allocations where external_id = $1 and org_id = $2 order by created_at desc limit 1',
    [plan.externalId, toUuid(orgId)],
  );
  const [row] = rows;
  return row === undefined ? null : { id: fromUuid('alc', row.id), state: row.state };
}

async function startSequence(live: LiveSequence): Promise<'live' | 'refused' | 'over'> {
  const before = await stateOf(live);
  if (before?.state === 'released') return 'over';
  if (before?.state === 'releasing') {
    await endSequence(live);
    return 'over';
  }
  try {
    await createMachines(live, await placeOnce(live));
    return 'live';
  } catch (error) {
    if (isFault(error) && error.reason === 'INSUFFICIENT_CAPACITY') return 'refused';
    throw error;
  }
}

async function endSequence(live: LiveSequence): Promise<void> {
  const { plan, orgId } = live;
  const known = await stateOf(live);
  if (known === null || known.state === 'released') return;
  const placement = await findPlacement(db, orgId, plan.externalId);
  if (placement !== null) {
    await db.transaction({ ...committed, name: 'mark' }, (tx) => markReleasing(tx, orgId, known.id));
  }
  for (let index = 0; index < plan.nodeCount; index += 1)
    await driver.terminate(machineOf(live, index), soon());
  await Promise.all(
    Array.from({ length: plan.releases }, () =>
      db.transaction({ ...committed, name: 'release' }, (tx) => releaseAllocation(tx, orgId, known.id)),
    ),
  );
}

/** Retries after a cut connection. The outcome of the commit is unknown, so each attempt reads the rows again. */
async function retryUntilKnown<T>(sequence: number, work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      print(`again ${sequence} ${error instanceof Error ? error.message.replaceAll('\n', ' ') : 'unknown'}`);
      await systemClock.sleep(10);
    }
  }
}

const left = [...config.sequences];
async function work(): Promise<void> {
  const retained: LiveSequence[] = [];
  const endOldest = async (): Promise<void> => {
    const oldest = retained.shift();
    if (oldest === undefined) return;
    await retryUntilKnown(oldest.sequence, () => endSequence(oldest));
    print(`done ${oldest.sequence}`);
  };
  for (let sequence = left.shift(); sequence !== undefined; sequence = left.shift()) {
    const plan = planOf(config.seed, sequence);
    const live = { sequence, plan, orgId: orgOf(plan) };
    const number = sequence;
    print(`begun ${number}`);
    const outcome = await retryUntilKnown(number, () => startSequence(live));
    print(`${outcome} ${number}`);
    if (outcome === 'live') retained.push(live);
    if (outcome === 'refused') await endOldest();
    while (retained.length > plan.keeps) await endOldest();
  }
  while (retained.length > 0) await endOldest();
}

print('ready');
await Promise.all(Array.from({ length: config.clients }, work));
await driver.close();
await pool.end();
await db.close();
print('finished');
