import { systemClock } from '@millrace/platform/clock';
import { toUuid } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import {
  impossibleHardware,
  createFailures,
  makeCertificate,
  startHostileIncus,
  testIds,
  unusableResponses,
  type HostileIncus,
  type TestCertificate,
} from '@millrace/testing';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DriverError, isDriverError } from '../driver-error.ts';
import type { ComputeDriver, MachineSpec } from '../driver.ts';
import { createIncusDriver } from './index.ts';

/** Tests the driver against a supplier's daemon that responds with anything, simulated by a hostile double. */

let own: TestCertificate;
let daemon: HostileIncus;
let driver: ComputeDriver;

beforeAll(async () => {
  own = await makeCertificate('millrace');
});
beforeEach(async () => {
  daemon = await startHostileIncus();
  daemon.trust(own.fingerprint);
  driver = createIncusDriver({
    ...daemon.settingsFor(own),
    clock: systemClock,
    log: createLogger({ name: 'hostile', level: 'silent' }),
  });
});
afterEach(async () => {
  await driver.close();
  await daemon[Symbol.asyncDispose]();
});

const TIMEOUT_MS = 700;
/** For a busy test host. */
const SLACK_MS = 1_500;
const soon = (): AbortSignal => AbortSignal.timeout(TIMEOUT_MS);
const orgId = testIds.next('org');

function newSpec(): MachineSpec {
  return {
    externalId: toUuid(testIds.next('rnt')),
    orgId,
    mode: 'live',
    nodeName: 'pretender',
    gpuPciAddresses: ['0000:81:00.0'],
    cpuCount: 4,
    ramMb: 4_096,
    diskGb: 20,
    image: 'ubuntu',
    hostname: 'machine',
    sshKeys: ['ssh-ed25519 AAAA'],
    userData: null,
    ports: [{ internalPort: 22, externalPort: 20_022, protocol: 'tcp' }],
    labels: {},
  };
}

it('driver works with an honest double, so that failures below come from its misbehaviour', async () => {
  const { nodes } = await driver.readInventory(soon());
  expect(nodes[0]?.hardware?.gpus).toHaveLength(8);
  const wanted = newSpec();
  await driver.create(wanted, AbortSignal.timeout(10_000));
  expect(await driver.describe(wanted, soon())).toMatchObject({ power: 'on', nodeName: 'pretender' });
  await driver.terminate(wanted, soon());
  expect(await driver.describe(wanted, soon())).toBeNull();
});

describe.each(Object.entries(unusableResponses))('a daemon that responds with %s', (_, fault) => {
  it('is unavailable within the deadline for every call', async () => {
    const made = newSpec();
    await driver.create(made, AbortSignal.timeout(10_000));
    daemon.misbehaviour = fault;
    const calls: (() => Promise<unknown>)[] = [
      () => driver.readInventory(soon()),
      () => driver.listOwned(soon()),
      () => driver.describe(made, soon()),
      () => driver.create(newSpec(), soon()),
      () => driver.cutAccess(made, soon()),
      () => driver.terminate(made, soon()),
    ];
    const memoryBefore = process.memoryUsage().rss;
    for (const call of calls) {
      const startedMs = systemClock.monotonicMs();
      // An inventory is acceptable only without hardware.
      const outcome = await call().catch((error: unknown) => error);
      if (!isInventory(outcome)) expect(outcome).toBeInstanceOf(DriverError);
      else expect(outcome.nodes.every(({ hardware }) => hardware === null)).toBe(true);
      expect(systemClock.monotonicMs() - startedMs).toBeLessThan(TIMEOUT_MS + SLACK_MS);
    }
    expect(process.memoryUsage().rss - memoryBefore).toBeLessThan(300 * 1_048_576);
  });

  it('is never trusted that a machine does not exist', async () => {
    const made = newSpec();
    await driver.create(made, AbortSignal.timeout(10_000));
    daemon.misbehaviour = fault;
    await expect(driver.describe(made, soon())).rejects.toBeInstanceOf(DriverError);
    await expect(driver.terminate(made, soon())).rejects.toBeInstanceOf(DriverError);
  });
});

function isInventory(value: unknown): value is { nodes: readonly { hardware: unknown }[] } {
  return typeof value === 'object' && value !== null && 'nodes' in value;
}

it.each(Object.entries(impossibleHardware))(
  'driver handles a daemon that reports %s',
  async (what, fault) => {
    daemon.misbehaviour = fault;
    const { nodes } = await driver.readInventory(soon());
    expect(nodes).toHaveLength(1);
    // Values within the schema's limits are passed on, and the fleet refuses them.
    if (what === 'a thousand GPUs' || what === 'a million processors') return;
    expect(nodes[0]).toMatchObject({ reachable: false, hardware: null });
    expect(nodes[0]?.detail?.length).toBeLessThan(2_000);
  },
);

it('driver does not follow redirects', async () => {
  await using other = await startHostileIncus();
  daemon.misbehaviour = () => ({ do: 'redirect', to: `${other.url}/1.0` });
  await expect(driver.readInventory(soon())).rejects.toBeInstanceOf(DriverError);
  expect(other.requests).toEqual([]);
});

it('driver refuses a daemon that became part of a cluster, and contacts none of its members', async () => {
  const environment = {
    server: 'incus',
    server_version: '6.0',
    server_name: 'pretender',
    server_clustered: true,
  };
  const body = { type: 'sync', metadata: { auth: 'trusted', environment } };
  daemon.misbehaviour = ({ path }) =>
    path === '/1.0' ? { do: 'answer', response: { status: 200, body } } : null;
  await expect(driver.readInventory(soon())).rejects.toSatisfy((error) => isDriverError(error, 'refused'));
  await expect(driver.create(newSpec(), soon())).rejects.toSatisfy((error) =>
    isDriverError(error, 'refused'),
  );
  expect(new Set(daemon.requests)).toEqual(new Set(['GET /1.0']));
});

it('driver sends nothing to a daemon that suddenly has another certificate', async () => {
  await driver.readInventory(soon());
  await daemon.showOtherCertificate();
  const before = daemon.requests.length;
  await expect(driver.create(newSpec(), soon())).rejects.toSatisfy((error) =>
    isDriverError(error, 'unavailable'),
  );
  expect(daemon.requests.length).toBe(before);
});

describe.each(Object.entries(createFailures))('a daemon that %s', (_, fault) => {
  it('never makes the driver report the machine as created and on', async () => {
    const wanted = newSpec();
    daemon.misbehaviour = fault;
    const created = await driver.create(wanted, soon()).then(
      () => true,
      (error: unknown) => {
        expect(error).toBeInstanceOf(DriverError);
        return false;
      },
    );
    const seen = await driver.describe(wanted, soon()).catch(() => null);
    const isAsSold = seen?.power === 'on' && seen.gpuPciAddresses.join() === wanted.gpuPciAddresses.join();
    expect(created && isAsSold).toBe(false);
  });
});

describe('a daemon that invents machines', () => {
  const invented = (count: number) =>
    Array.from({ length: count }, () => ({
      name: `mr-${toUuid(testIds.next('rnt'))}`,
      project: 'millrace',
      status: 'Running',
      status_code: 103,
      config: { 'user.millrace.owner': 'millrace', 'user.millrace.org': orgId, 'user.millrace.ready': '1' },
      devices: {},
    }));

  it.each([1_001, 20_000])('is unavailable if it lists %i of them', async (count) => {
    const rows = invented(count);
    daemon.misbehaviour = (request) =>
      request.path === '/1.0/instances'
        ? { do: 'answer', response: { status: 200, body: { type: 'sync', metadata: rows } } }
        : null;
    await expect(driver.listOwned(AbortSignal.timeout(10_000))).rejects.toSatisfy((error) =>
      isDriverError(error, 'unavailable'),
    );
  });
});

it.each(['$(touch /tmp/x)', '-oProxyCommand=x', 'a b', '\u0000root', 'x'.repeat(33)])(
  'driver ignores an invalid SSH user of a daemon: %j',
  async (user) => {
    const wanted = newSpec();
    await driver.create(wanted, AbortSignal.timeout(10_000));
    for (const instance of daemon.fake.instances.values()) instance.config['user.millrace.ssh-user'] = user;
    expect(await driver.describe(wanted, soon())).toMatchObject({ sshUser: 'ubuntu' });
  },
);

it.each(['two\nlines', 'nul\u0000', 'x'.repeat(300), ''])(
  'driver refuses a daemon with an invalid name: %j',
  async (name) => {
    daemon.misbehaviour = (request, fake) => {
      if (request.path !== '/1.0') return null;
      const text = JSON.stringify(fake.respond(request).body);
      const body = JSON.parse(text.replaceAll('"pretender"', JSON.stringify(name))) as unknown;
      return { do: 'answer', response: { status: 200, body } };
    };
    await expect(driver.listOwned(soon())).rejects.toBeInstanceOf(DriverError);
    await expect(driver.readInventory(soon())).rejects.toBeInstanceOf(DriverError);
  },
);
