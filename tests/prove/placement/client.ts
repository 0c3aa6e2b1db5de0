import { writeSync } from 'node:fs';
import { createMockDriver, createPostgresMemory } from '@millrace/compute/mock';
import {
  findPlacement,
  markReleasing,
  place,
  releaseAllocation,
  type Placement,
  type PlacementWish,
} from '@millrace/core/fleet';
import { systemClock } from '@millrace/platform/clock';
import { createDb, type Tx } from '@millrace/platform/db';
import { isFault } from '@millrace/platform/fault';
import { createIdSource, fromUuid, toUuid, type AllocationId, type OrgId } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { Pool } from 'pg';
import { CLUSTER, layout, planOf, REGION, type Plan } from './plans.ts';

/**
 * A process with several clients, to be killed at any point. Each sequence is placed, made at the engine and, sooner or
 * later, given back. What was begun and not said to be done is gone through again by the next process: the rows and the
 * engine tell how far it came.
 */

interface Orders {
  readonly url: string;
  readonly seed: number;
  readonly cell: number;
  readonly clients: number;
  readonly orgIds: readonly OrgId[];
  readonly nodeNames: Readonly<Record<string, string>>;
  /** In this order. */
  readonly sequences: readonly number[];
}

const orders = JSON.parse(process.argv[2] ?? '{}') as Orders;
const db = createDb({
  url: orders.url,
  poolSize: orders.clients + 2,
  applicationName: 'placement-client',
  ids: createIdSource({ clock: systemClock, cell: orders.cell }),
  log: createLogger({ name: 'client', level: 'silent' }),
});
const pool = new Pool({ connectionString: orders.url, max: 2 });
pool.on('error', () => undefined);
const driver = createMockDriver({
  cluster: CLUSTER,
  clock: systemClock,
  memory: createPostgresMemory(db, { cluster: CLUSTER, clock: systemClock }),
  layout,
  doors: null,
});

/** Straight into the pipe: what the kernel has taken outlives the process. */
const say = (line: string): void => void writeSync(1, `${line}\n`);
const soon = (): AbortSignal => AbortSignal.timeout(120_000);
const committed = { name: 'place', isolation: 'read committed' } as const;

interface Live {
  readonly sequence: number;
  readonly plan: Plan;
  readonly orgId: OrgId;
}

function orgOf(plan: Plan): OrgId {
  const orgId = orders.orgIds[plan.organisation];
  if (orgId === undefined) throw new Error('There are as many organisations as plans name.');
  return orgId;
}

const wishOf = (plan: Plan): PlacementWish => ({
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

/** One machine on each node: the engine knows it by the allocation's id and its place in the gang. */
const machineOf = ({ plan, orgId }: Live, index: number) => ({
  externalId: `${plan.externalId}-${index}`,
  orgId,
});

async function createMachines(live: Live, { nodes }: Placement): Promise<void> {
  for (const [index, node] of nodes.entries()) {
    await driver.create(
      {
        ...machineOf(live, index),
        mode: 'live',
        nodeName: orders.nodeNames[node.nodeId] ?? '',
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

async function takePlace(live: Live, tx: Tx): Promise<Placement> {
  return place(tx, wishOf(live.plan));
}

class OnPurpose extends Error {}

async function placeOnce(live: Live): Promise<Placement> {
  if (live.plan.rollsBackFirst) {
    const undone = db.transaction(committed, async (tx) => {
      await takePlace(live, tx);
      throw new OnPurpose();
    });
    await undone.catch((error: unknown) => {
      if (!(error instanceof OnPurpose)) throw error;
    });
  }
  return db.transaction(committed, (tx) => takePlace(live, tx));
}

/** How far it came before, as the rows tell. */
async function stateOf({ plan, orgId }: Live): Promise<{ id: AllocationId; state: string } | null> {
  const { rows } = await pool.query<{ id: string; state: string }>(
    'select id, state from allocations where external_id = $1 and org_id = $2 order by created_at desc limit 1',
    [plan.externalId, toUuid(orgId)],
  );
  const [row] = rows;
  return row === undefined ? null : { id: fromUuid('alc', row.id), state: row.state };
}

/** Until it has its machine, was refused, or is found to be over. */
async function begin(live: Live): Promise<'live' | 'refused' | 'over'> {
  const before = await stateOf(live);
  if (before?.state === 'released') return 'over';
  if (before?.state === 'releasing') {
    await end(live);
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

async function end(live: Live): Promise<void> {
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

/** A connection may be cut under it. Whether a commit arrived is not known, so the rows are asked again. */
async function surely<T>(sequence: number, work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      say(`again ${sequence} ${error instanceof Error ? error.message.replaceAll('\n', ' ') : 'unknown'}`);
      await systemClock.sleep(10);
    }
  }
}

const left = [...orders.sequences];
async function work(): Promise<void> {
  const kept: Live[] = [];
  const endOldest = async (): Promise<void> => {
    const oldest = kept.shift();
    if (oldest === undefined) return;
    await surely(oldest.sequence, () => end(oldest));
    say(`done ${oldest.sequence}`);
  };
  for (let sequence = left.shift(); sequence !== undefined; sequence = left.shift()) {
    const plan = planOf(orders.seed, sequence);
    const live = { sequence, plan, orgId: orgOf(plan) };
    const number = sequence;
    say(`begun ${number}`);
    const outcome = await surely(number, () => begin(live));
    say(`${outcome} ${number}`);
    if (outcome === 'live') kept.push(live);
    if (outcome === 'refused') await endOldest();
    while (kept.length > plan.keeps) await endOldest();
  }
  while (kept.length > 0) await endOldest();
}

say('ready');
await Promise.all(Array.from({ length: orders.clients }, work));
await driver.close();
await pool.end();
await db.close();
say('finished');
