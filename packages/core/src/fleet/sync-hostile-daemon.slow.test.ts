import { createIncusDriver } from '@millrace/compute/incus';
import { systemClock } from '@millrace/platform/clock';
import { toUuid } from '@millrace/platform/ids';
import { createNetGuard } from '@millrace/platform/net';
import {
  impossibleHardware,
  makeCertificate,
  startHostileIncus,
  unusableResponseKinds,
  unusableResponses,
  type HostileIncus,
  type Misbehaviour,
  type TestCertificate,
} from '@millrace/testing';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createFleetHarness, silentLogger, SECOND_MS, type FleetHarness } from './fleet.fixture.ts';
import { createDriverPool, transitionNode, place, type FleetSync } from './index.ts';
import { placementRequestFor } from './placement-request.fixture.ts';

/** Suppliers' daemons read by the real driver: an honest one, and a double that returns false data. */

let own: TestCertificate;
let harness: FleetHarness;
let sync: FleetSync;
let daemons: Readonly<Record<'honest' | 'hostile', HostileIncus>>;

/** An honest read takes a fraction of this; a false one must not take longer. */
const READ_TIMEOUT_MS = 600;
const SILENT_MS = 20 * SECOND_MS;

beforeAll(async () => {
  own = await makeCertificate('millrace');
});

beforeEach(async () => {
  harness = await createFleetHarness();
  daemons = {
    honest: await startHostileIncus({ name: 'honest' }),
    hostile: await startHostileIncus({ name: 'hostile' }),
  };
  for (const daemon of Object.values(daemons)) daemon.trust(own.fingerprint);
  await harness.configure('honest', 'hostile');
  const guard = createNetGuard({ allowedNetworks: ['127.0.0.0/8'] });
  const drivers = createDriverPool({
    db: harness.db,
    log: silentLogger,
    connect: async ({ name }) => {
      const daemon = name === 'honest' ? daemons.honest : daemons.hostile;
      return createIncusDriver({
        ...daemon.settingsFor(own),
        guard,
        clock: systemClock,
        log: silentLogger,
      });
    },
  });
  sync = harness.worker('one', { drivers, tuning: { readTimeoutMs: READ_TIMEOUT_MS, silentMs: SILENT_MS } });
});
afterEach(async () => {
  await sync.stop();
  await Promise.all(Object.values(daemons).map((daemon) => daemon[Symbol.asyncDispose]()));
  await harness.drop();
});

async function look(name: 'honest' | 'hostile') {
  await sync.tick();
  return sync.look(await harness.clusterId(name));
}

/** Polls both clusters until one that does not respond is silent. */
async function passSilence(): Promise<void> {
  for (let round = 0; round < 2; round += 1) {
    for (let tick = 0; tick < 4; tick += 1) {
      await harness.clock.advance(5 * SECOND_MS);
      await sync.tick();
    }
    await Promise.all([look('honest'), look('hostile')]);
  }
}

/** Does nothing unless the node exists and is quarantined. */
async function asOperator(nodeName: string, to: 'node_ready'): Promise<void> {
  const node = (await harness.nodes()).find(({ name }) => name === nodeName);
  if (node?.status !== 'node_quarantined') return;
  const actor = { kind: 'operator', id: 'usr_test' } as const;
  const options = { name: 'resume', isolation: 'read committed' } as const;
  await harness.db.transaction(options, (tx) =>
    transitionNode(tx, node.id, to, { reason: 'looked at', actor }),
  );
}

async function place8(nodeName: string) {
  const { id: only } = await harness.node(nodeName);
  const request = placementRequestFor(await harness.organisation(), 'eu', { gpusPerNode: 8 });
  const options = { name: 'rent', isolation: 'read committed' } as const;
  return harness.db.transaction(options, (tx) => place(tx, { ...request, only }));
}

const rowsOfGpus = () =>
  harness.rows<{ name: string; gpus: number }>(
    `select node.name, count(gpu.id)::int as gpus from nodes as node left join gpus as gpu on gpu.node_id = node.id
      group by node.name order by node.name`,
  );

it('honest doubles are read, so that the following tests concern false data only', async () => {
  expect((await look('honest')).outcome).toBe('read');
  expect((await look('hostile')).outcome).toBe('read');
  expect(await harness.statuses()).toEqual({ honest: 'node_ready', hostile: 'node_ready' });
});

const ways: readonly (readonly [string, Misbehaviour])[] = [
  ...Object.entries<Misbehaviour>(unusableResponseKinds),
  ...Object.entries<Misbehaviour>(impossibleHardware),
];

describe.each(ways)('a daemon that responds with %s', (_, misbehaviour) => {
  it('sells nothing, keeps its stored hardware, and does not affect other daemons', async () => {
    daemons.hostile.misbehaviour = misbehaviour;
    await Promise.all([look('honest'), look('hostile')]);
    const sellers = (await harness.nodes()).filter(({ placeable }) => placeable).map(({ name }) => name);
    expect(sellers).toEqual(['honest']);

    daemons.hostile.misbehaviour = null;
    // A node that was implausible from the start needs an operator first.
    await asOperator('hostile', 'node_ready');
    await look('hostile');
    await look('hostile');
    expect(await harness.node('hostile')).toMatchObject({ status: 'node_ready', placeable: true });
    const before = await rowsOfGpus();

    daemons.hostile.misbehaviour = misbehaviour;
    await passSilence();
    expect(await rowsOfGpus()).toEqual(before);
    const node = await harness.node('hostile');
    expect(node).toMatchObject({ status: 'node_offline', placeable: false });
    expect((node.statusReason ?? '').length).toBeLessThanOrEqual(1_000);
    expect(((await harness.cluster('hostile')).statusReason ?? '').length).toBeLessThanOrEqual(1_000);
    await expect(place8('hostile')).rejects.toThrow();
    expect(await harness.node('honest')).toMatchObject({ status: 'node_ready', placeable: true });
    expect(await place8('honest')).toMatchObject({ nodes: [{}] });
  });
});

it('a daemon that returns valid data again is sold again', async () => {
  await look('hostile');
  daemons.hostile.misbehaviour = unusableResponses['garbage instead of JSON'];
  await passSilence();
  daemons.hostile.misbehaviour = null;
  await look('hostile');
  expect(await harness.node('hostile')).toMatchObject({ status: 'node_ready', placeable: true });
});

it('a daemon that reports the GPUs of another daemon cannot sell them', async () => {
  await look('honest');
  daemons.hostile.fake.hardware = daemons.honest.fake.hardware;
  await look('hostile');
  expect(await harness.node('hostile')).toMatchObject({ status: 'node_quarantined', placeable: false });
  expect(await harness.node('honest')).toMatchObject({ status: 'node_ready', placeable: true });
});

/** Makes the cluster a supplier's. */
async function supplied(name: string): Promise<void> {
  const orgId = await harness.organisation();
  await harness.rows(`update clusters set supplier_org_id = '${toUuid(orgId)}' where name = '${name}'`);
}

it('a supplier that reports the GPUs of another daemon does not learn their owner', async () => {
  await look('honest');
  await supplied('hostile');
  daemons.hostile.fake.hardware = daemons.honest.fake.hardware;
  await look('hostile');
  const { status, statusReason } = await harness.node('hostile');
  expect(status).toBe('node_quarantined');
  expect(statusReason).toContain('is in another machine');
  expect(statusReason).not.toContain(' honest');
});

it("a supplier's daemon stays one node, whatever names and numbers it reports", async () => {
  await supplied('hostile');
  await look('hostile');
  for (const name of ['one', 'two', 'three']) {
    // After silence the driver reads the server name again.
    daemons.hostile.misbehaviour = unusableResponses['garbage instead of JSON'];
    await passSilence();
    daemons.hostile.misbehaviour = ({ path }) =>
      path === '/1.0' ? { do: 'answer', response: called(name) } : null;
    await look('hostile');
  }
  const names = (await harness.nodes()).map((node) => node.name).filter((name) => name !== 'honest');
  expect(names).toEqual(['hostile']);
});

const called = (name: string) => ({
  status: 200,
  body: {
    type: 'sync',
    metadata: {
      auth: 'trusted',
      environment: { server: 'incus', server_version: '6.0', server_name: name, server_clustered: false },
    },
  },
});

it('texts of a daemon are stored in one line of limited length', async () => {
  daemons.hostile.fake.hardware = {
    ...daemons.hostile.fake.hardware,
    gpus: [
      {
        pciAddress: '0000:81:00.0',
        model: `NVIDIA\n\u0000\u001b[31m H100 ${'\u{1F600}'.repeat(60)}`,
        uuid: 'GPU-x',
      },
    ],
  };
  await look('hostile');
  const [gpu] = (await harness.node('hostile')).gpus;
  expect(gpu?.model).not.toMatch(/[\u0000-\u001f]/);
  expect((gpu?.model ?? '').length).toBeLessThanOrEqual(200);
});
