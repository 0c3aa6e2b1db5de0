import { createOrganisation, createTestDatabase, freePort } from '@millrace/testing';
import { SimulatedClock } from '@millrace/platform/clock';
import ssh2 from 'ssh2';
import { afterAll, describe, expect, it } from 'vitest';
import type { EngineEvent, MachineRef } from '../driver.ts';
import { newSshKeyPair } from '../ssh-key-pair.ts';
import { createMockDriver, createPostgresStore } from './index.ts';
import { makeMachine } from './mock-machine.ts';
import { longTimeout, machineSpecFor } from './mock-engine.fixture.ts';

let clusters = 0;

const database = await createTestDatabase();
const orgId = await createOrganisation(database.db);
afterAll(() => database.drop());

/** Two processes that share only the database and the clock. */
function twoProcesses() {
  clusters += 1;
  const cluster = `cluster-${clusters}`;
  const clock = new SimulatedClock();
  const [first, second] = [1, 2].map(() => createPostgresStore(database.db, { cluster, clock }));
  if (first === undefined || second === undefined) throw new Error('There are two stores.');
  const connect = (memory: typeof first, listen: { bind: string | null } | null) =>
    createMockDriver({ cluster, clock, memory, listen });
  return {
    clock,
    first,
    second,
    serving: connect(first, { bind: '127.0.0.1' }),
    other: connect(second, null),
  };
}

describe('mock engine in PostgreSQL', () => {
  it('applies exactly one of many concurrent changes to a version, and never reuses a version', async () => {
    const { first, second } = twoProcesses();
    const machine = makeMachine(machineSpecFor({ orgId }), 'seed', 0);
    const writes = (version: bigint | null) =>
      Promise.all(
        Array.from({ length: 16 }, (_, index) =>
          (index % 2 === 0 ? first : second).write(machine, version, { ...machine, calls: index }, 'raced'),
        ),
      );
    const [made] = (await writes(null)).filter((version) => version !== null);
    const changed = (await writes(made ?? null)).filter((version) => version !== null);
    expect(changed).toHaveLength(1);
    expect((await first.read(machine))?.version).toBe(changed[0]);
    expect(await first.write(machine, changed[0] ?? null, null, 'gone')).not.toBeNull();
    expect(await second.read(machine)).toBeNull();
    const again = await second.write(machine, null, machine, 'again');
    expect(again).toBeGreaterThan(changed[0] ?? 0n);
    expect(await first.write(machine, changed[0] ?? null, null, 'stale')).toBeNull();
  });

  it('shows machines of one process completely in another, and creates one machine from concurrent creates', async () => {
    const { first, serving, other } = twoProcesses();
    const spec = machineSpecFor({ orgId, labels: { team: 'a' }, userData: '#cloud-config' });
    await Promise.all([serving, other, serving, other].map((driver) => driver.create(spec, longTimeout())));
    const view = await other.describe(spec, longTimeout());
    expect(view).toEqual(await serving.describe(spec, longTimeout()));
    expect(view).toMatchObject({ externalId: spec.externalId, orgId, labels: { team: 'a' }, power: 'on' });
    expect((await other.listOwned(longTimeout())).machines).toEqual([view]);
    // Lists omit user data, the longest part of a record.
    expect((await first.list()).map(({ machine }) => machine.userData)).toEqual([null]);
    expect((await first.read(spec))?.machine.userData).toBe('#cloud-config');
    await serving.terminate(spec, longTimeout());
    expect(await other.describe(spec, longTimeout())).toBeNull();
    await serving.close();
  });

  it('refuses permanently a machine with more text than a row can hold, at create and at setKeys', async () => {
    const { serving } = twoProcesses();
    const long = (count: number): string[] =>
      Array.from({ length: count }, (_, index) => `ssh-ed25519 AAAA ${'k'.repeat(16_000)}${index}`);
    const spec = machineSpecFor({ orgId, sshKeys: long(80) });
    const refused = { kind: 'refused', isFinal: true };
    await expect(serving.create(spec, longTimeout())).rejects.toMatchObject(refused);
    expect(await serving.describe(spec, longTimeout())).toBeNull();
    // Everything below the limit is stored unchanged.
    const userData = '\u0001'.repeat(65_536);
    await serving.create({ ...spec, sshKeys: long(30), userData }, longTimeout());
    await expect(serving.setKeys(spec, long(80), longTimeout())).rejects.toMatchObject(refused);
    await serving.terminate(spec, longTimeout());
    await serving.close();
  });

  it('breaks open sessions within a second after another process cut access, and accepts no login', async () => {
    const { clock, serving, other } = twoProcesses();
    const pair = newSshKeyPair('test');
    const externalPort = await freePort();
    const ports = [{ internalPort: 22, externalPort, protocol: 'tcp' as const }];
    const spec = machineSpecFor({ orgId, ports, sshKeys: [pair.public.trim()] });
    await serving.create(spec, longTimeout());
    await clock.advance(10_000);
    const login = () => openClient(externalPort, pair.private);
    const session = await login();
    await other.cutAccess(spec, longTimeout());
    await expect(login()).rejects.toThrow();
    const broken = new Promise((resolve) => session.once('close', () => resolve('broken')));
    await clock.advance(1_000);
    expect(await broken).toBe('broken');
    await serving.close();
  });

  it('reports events of one process in another, and deletes rows of deleted machines after an hour', async () => {
    const { clock, first, serving, other } = twoProcesses();
    const abort = new AbortController();
    const received: EngineEvent[] = [];
    const listening = (async () => {
      for await (const event of other.events(abort.signal)) received.push(event);
    })();
    await pause(clock);
    const spec = machineSpecFor({ orgId });
    await serving.create(spec, longTimeout());
    await pause(clock);
    await serving.terminate(spec, longTimeout());
    await pause(clock);
    abort.abort();
    await listening;
    const of = (what: string): EngineEvent => ({ kind: 'machine', externalId: spec.externalId, what });
    expect(received).toEqual([of('created'), of('terminated')]);
    await clock.advance(3_600_000);
    const next = machineSpecFor({ orgId });
    await serving.create(next, longTimeout());
    await serving.terminate(next, longTimeout());
    expect(await rowsOf(spec)).toBe(0);
    expect(await rowsOf(next)).toBe(1);
    expect(await first.list()).toEqual([]);
    await serving.close();
  });
});

/** Advances the clock by a second and waits for the query that this starts. */
async function pause(clock: SimulatedClock): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) {
    await clock.advance(1_000);
    await database.db.ping();
  }
}

async function rowsOf({ externalId }: MachineRef): Promise<number> {
  const rows = await database.db.kysely
    .selectFrom('mock_machines')
    .select('external_id')
    .where('external_id', '=', externalId)
    .execute();
  return rows.length;
}

function openClient(port: number, privateKey: string): Promise<ssh2.Client> {
  const client = new ssh2.Client();
  return new Promise((resolve, reject) => {
    client.once('ready', () => resolve(client));
    client.on('error', reject);
    client.once('close', () => reject(new Error('The connection was closed before the login.')));
    client.connect({ host: '127.0.0.1', port, username: 'ubuntu', privateKey });
  });
}
