import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { systemClock } from '@millrace/platform/clock';
import { toUuid } from '@millrace/platform/ids';
import { eventually, testIds, testLog, useIncusCluster } from '@millrace/testing';
import type { IncusClusterEndpoints } from '@millrace/services';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { retryingDriver } from '../conformance/index.ts';
import type { ComputeDriver, MachineSpec } from '../driver.ts';
import {
  arpReply,
  fetchFromHost,
  configure,
  countFrames,
  dhcpOffer,
  flushNeighbours,
  guardBridge,
  neighbourAdvertisement,
  rogueDhcpMarker,
  routerAdvertisement,
  sendFrames,
  unguardBridges,
  type Nic,
} from './attacker.fixture.ts';
import { addressIn } from './incus-addresses.ts';
import { IncusClient } from './api/incus-client.ts';
import { createIncusDriver, type IncusDriverOptions } from './index.ts';
import { isFiltered, macOf } from './incus-instance.ts';
import { IncusInstances, instanceLocation } from './incus-instances.ts';
import { isStallError, retryOnStall, createWithRetry, removeWithRetry } from './incus-stalls.fixture.ts';

// Two tenants on one host of a real cluster; one attacks the other with everything that root in a container can send. Every
// attack must fail, and must succeed without the filters.

const network = 'mrattack';
const subnet = '10.65.7.1/24';
const subnet6 = 'fd42:6d72::1/64';
const webPort = 8_080;
const floodMs = 3_000;
/** Linux accepts a changed ARP entry only if the last one is a second old. */
const believedAfterMs = 1_300;

/** An attack is repeated if a stall of the host may have decided its outcome. */
const attempts = 3;

const polling = { timeoutMs: 240_000, intervalMs: 200 };
const hangMs = 600_000;

const signal = (): AbortSignal => AbortSignal.timeout(300_000);
let cluster: IncusClusterEndpoints;
let driver: ComputeDriver;
let client: IncusClient;
let hostPid: number;
let forwardedPort: number;
const attacker = machineOf('attacker');
const victim = machineOf('victim');

function machineOf(hostname: string): MachineSpec {
  return {
    externalId: toUuid(testIds.next('rnt')),
    orgId: testIds.next('org'),
    mode: 'live',
    nodeName: 'incus-1',
    gpuPciAddresses: [],
    cpuCount: 1,
    ramMb: 128,
    diskGb: 1,
    image: 'millrace-ssh',
    hostname,
    sshKeys: [],
    userData: null,
    ports: [],
    labels: {},
  };
}

function optionsOf(): IncusDriverOptions {
  return {
    endpoints: cluster.members.map(({ url }) => url),
    tls: {
      clientCertificate: readFileSync(cluster.clientCertificateFile, 'utf8'),
      clientKey: readFileSync(cluster.clientKeyFile, 'utf8'),
      serverCertificate: readFileSync(cluster.serverCertificateFile, 'utf8'),
    },
    instanceType: 'container',
    network,
    storagePool: 'default',
    sshUser: 'ubuntu',
    clock: systemClock,
    log: testLog('isolation'),
  };
}

/** A cluster network must first be declared for each member. */
async function makeNetwork(): Promise<void> {
  const path = '/1.0/networks';
  const make = (config: Readonly<Record<string, string>>, target?: string): Promise<void> =>
    createWithRetry((within) =>
      client.write(
        {
          what: 'create a network',
          method: 'POST',
          path,
          body: { name: network, type: 'bridge', config },
          ...(target !== undefined && { query: { target } }),
        },
        within,
      ),
    );
  for (const { name } of cluster.members) await make({}, name);
  await make({ 'ipv4.address': subnet, 'ipv4.nat': 'false', 'ipv6.address': subnet6, 'ipv6.nat': 'false' });
}

async function nicOf(machine: MachineSpec): Promise<Nic> {
  const { path, query } = instanceLocation(client, machine);
  const request = { what: 'read the nic', path, query: { ...query, recursion: '1' } };
  const schema = z.object({
    devices: z.record(z.string(), z.record(z.string(), z.string())),
    state: z.object({ pid: z.number() }),
  });
  const { devices, state } = await retryOnStall((within) => client.read(request, schema, within));
  const { hwaddr = '', 'ipv4.address': ipv4 = '' } = devices['eth0'] ?? {};
  return {
    pid: state.pid,
    ipv4,
    ipv6: devices['eth0']?.['ipv6.address'] ?? assigned.get(machine) ?? '',
    hwaddr,
  };
}
/** Nics without filters do not show their IPv6 addresses any more, so they are stored here. */
const assigned = new Map<MachineSpec, string>();

/** Serves a page with the machine's name, and waits until it is reachable. */
async function serve(machine: MachineSpec): Promise<void> {
  const start = `mkdir -p /tmp/w && echo ${machine.hostname} >/tmp/w/index.html && httpd -p ${webPort} -h /tmp/w`;
  const command = { argv: ['sh', '-c', start], timeoutMs: 10_000, maxBytes: 1_000 };
  const isOn = async () => (await driver.describe(machine, signal()))?.power === 'on';
  await eventually({ what: `${machine.hostname} to be on`, ...polling }, isOn);
  expect((await driver.exec(machine, command, signal())).exitCode).toBe(0);
  await untilServed(machine);
}

/** Waits until the host reaches this machine at its addresses, and no machine that claimed them before. */
async function untilServed(machine: MachineSpec): Promise<void> {
  const { ipv4, ipv6 } = await nicOf(machine);
  for (const host of [ipv4, `[${ipv6}]`]) {
    const url = `http://${host}:${webPort}/`;
    const isAnswered = async () => (await fetchFromHost(hostPid, url)) === machine.hostname;
    await eventually({ what: `${machine.hostname} to respond at ${url}`, ...polling }, isAnswered);
  }
}

async function untilForwarded(): Promise<void> {
  const isAnswered = async () => (await fetchForwarded()) === victim.hostname;
  await eventually({ what: 'the forwarded port to lead to the victim', ...polling }, isAnswered);
}

/** Forwards a port to the victim's address, as for virtual machines. */
async function forward(): Promise<void> {
  const { ipv4 } = await nicOf(victim);
  const address = cluster.members[0]?.address ?? '';
  const port = {
    type: 'proxy',
    nat: 'true',
    listen: `tcp:${address}:${forwardedPort}`,
    connect: `tcp:${ipv4}:${webPort}`,
  };
  await retryOnStall((within) =>
    new IncusInstances(client).edit(
      victim,
      ({ config, devices }) => ({ config: config ?? {}, devices: { ...devices, forwarded: port } }),
      within,
    ),
  );
}

async function fetchForwarded(): Promise<string | null> {
  const address = cluster.members[0]?.address ?? '';
  const sent = fetch(`http://${address}:${forwardedPort}/`, { signal: AbortSignal.timeout(2_000) });
  return sent.then(
    async (response) => (await response.text()).trim(),
    () => null,
  );
}

/** Which machine responds for the victim while frames are sent, at its address and at its forwarded port. */
async function answersDuring(frames: readonly Buffer[], host: string): Promise<ReadonlySet<string | null>> {
  const from = await nicOf(attacker);
  const sending = Promise.all(frames.map((frame) => sendFrames(from, frame, floodMs)));
  await systemClock.sleep(believedAfterMs);
  const responses = new Set<string | null>();
  for (let round = 0; round < 2; round += 1) {
    responses.add(await fetchFromHost(hostPid, `http://${host}:${webPort}/`));
    if (!host.startsWith('[')) responses.add(await fetchForwarded());
  }
  await sending;
  return responses;
}

async function arrives(frame: Buffer, bytes: Buffer): Promise<boolean> {
  const [from, to] = [await nicOf(attacker), await nicOf(victim)];
  const counting = countFrames(to, bytes, 1_500);
  await systemClock.sleep(300);
  await sendFrames(from, frame, 500);
  return (await counting) > 0;
}

const isTaken = (responses: ReadonlySet<string | null>): boolean =>
  responses.size !== 1 || !responses.has(victim.hostname);

/** Each returns true if the attack succeeded. */
const attacks: Readonly<Record<string, () => Promise<boolean>>> = {
  async 'claims the address by ARP'() {
    const [own, other] = [await nicOf(attacker), await nicOf(victim)];
    await configure(own, 'addr', 'add', `${other.ipv4}/32`, 'dev', 'eth0');
    try {
      const frame = arpReply({ ipv4: other.ipv4, mac: own.hwaddr, from: own.hwaddr });
      return isTaken(await answersDuring([frame], other.ipv4));
    } finally {
      await configure(own, 'addr', 'del', `${other.ipv4}/32`, 'dev', 'eth0');
    }
  },
  async 'claims the IPv6 address by neighbour discovery'() {
    const [own, other] = [await nicOf(attacker), await nicOf(victim)];
    await configure(own, '-6', 'addr', 'add', `${other.ipv6}/128`, 'dev', 'eth0', 'nodad');
    try {
      const frame = neighbourAdvertisement({ ipv6: other.ipv6, mac: own.hwaddr });
      return isTaken(await answersDuring([frame], `[${other.ipv6}]`));
    } finally {
      await configure(own, '-6', 'addr', 'del', `${other.ipv6}/128`, 'dev', 'eth0');
    }
  },
  async 'sends with the MAC of the other'() {
    const other = await nicOf(victim);
    const frame = arpReply({ ipv4: other.ipv4, mac: other.hwaddr, from: other.hwaddr });
    return isTaken(await answersDuring([frame], other.ipv4));
  },
  async 'takes over MAC and address'() {
    const [own, other] = [await nicOf(attacker), await nicOf(victim)];
    await configure(own, 'addr', 'add', `${other.ipv4}/32`, 'dev', 'eth0');
    await configure(own, 'link', 'set', 'eth0', 'address', other.hwaddr);
    try {
      const frame = arpReply({ ipv4: other.ipv4, mac: other.hwaddr, from: other.hwaddr });
      return isTaken(await answersDuring([frame], other.ipv4));
    } finally {
      await configure(own, 'link', 'set', 'eth0', 'address', own.hwaddr);
      await configure(own, 'addr', 'del', `${other.ipv4}/32`, 'dev', 'eth0');
    }
  },
  async 'answers DHCP as a server'() {
    return arrives(dhcpOffer(await nicOf(attacker)), rogueDhcpMarker);
  },
  async 'advertises itself as an IPv6 router'() {
    const frame = routerAdvertisement(await nicOf(attacker));
    return arrives(frame, frame.subarray(14));
  },
};

/**
 * Whether the attack has this outcome in one of several attempts. A stall can keep the victim from responding, which counts as a
 * takeover, or delay frames until the host ignores them. Each attempt waits until the victim responds, so attempts are
 * independent.
 */
async function comesTo(outcome: boolean, attack: () => Promise<boolean>): Promise<boolean> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    await flushNeighbours(hostPid);
    await untilServed(victim);
    await untilForwarded();
    if ((await attack()) === outcome) return true;
  }
  return false;
}

/** Removes the filters; the nics keep only their addresses. */
async function takeFiltersOff(): Promise<void> {
  await unguardBridges(hostPid);
  for (const machine of [attacker, victim]) {
    await driver.stop(machine, { graceMs: 0 }, signal());
    await retryOnStall((within) =>
      new IncusInstances(client).edit(
        machine,
        ({ config, devices }) => {
          const unfiltered = Object.entries(devices?.['eth0'] ?? {}).filter(
            ([key]) => !key.startsWith('security.') && key !== 'ipv6.address',
          );
          return { config: config ?? {}, devices: { ...devices, eth0: Object.fromEntries(unfiltered) } };
        },
        within,
      ),
    );
    // The driver would restore the filters.
    await retryOnStall((within) => new IncusInstances(client).start(machine, within));
    await serve(machine);
  }
}

/** The nic as versions before decision 148 created it. */
async function makeNicOld(machine: MachineSpec): Promise<string | null> {
  const instances = new IncusInstances(client);
  await driver.stop(machine, { graceMs: 0 }, signal());
  const eth0 = { type: 'nic', name: 'eth0', network };
  await retryOnStall((within) =>
    instances.edit(
      machine,
      ({ config, devices }) => ({ config: config ?? {}, devices: { ...devices, eth0 } }),
      within,
    ),
  );
  await retryOnStall((within) => instances.start(machine, within));
  return macOf(await retryOnStall((within) => instances.get(machine, within)));
}

beforeAll(async () => {
  cluster = await useIncusCluster();
  client = new IncusClient(optionsOf(), systemClock);
  driver = retryingDriver(createIncusDriver(optionsOf()), isStallError, signal);
  await makeNetwork();
  const own = new IncusClient({ socketPath: cluster.members[0]?.socketPath ?? '' }, systemClock);
  const server = z.object({ environment: z.object({ server_pid: z.number() }) });
  const request = { what: 'find the host', path: '/1.0' };
  hostPid = (await retryOnStall((within) => own.read(request, server, within))).environment.server_pid;
  await own.close();
  await guardBridge(hostPid, subnet);
  forwardedPort = await freePort();
  await Promise.all([attacker, victim].map((machine) => driver.create(machine, signal())));
  for (const machine of [attacker, victim]) {
    assigned.set(machine, (await nicOf(machine)).ipv6);
    await serve(machine);
  }
  await forward();
}, hangMs);

afterAll(async () => {
  for (const machine of [attacker, victim]) await driver.terminate(machine, signal());
  await unguardBridges(hostPid);
  const removal = {
    what: 'remove the network',
    method: 'DELETE',
    path: `/1.0/networks/${network}`,
  } as const;
  await removeWithRetry((within) => client.write(removal, within));
  await Promise.all([driver.close(), client.close()]);
}, hangMs);

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : expect.fail('No port is free.');
}

describe('a tenant on the same host', () => {
  it.each(Object.entries(attacks))('gets no traffic of another tenant when it %s', async (_, attack) => {
    expect(await comesTo(false, attack)).toBe(true);
    await untilForwarded();
  });

  it('gets a free address if another machine has its first choice', async () => {
    const taken = (await nicOf(victim)).ipv4;
    let third = machineOf('third');
    while (addressIn(subnet, third.externalId, 1) !== taken) third = machineOf('third');
    await driver.create(third, signal());
    try {
      await eventually({ what: 'the third machine to be on', ...polling }, async () => {
        const view = await driver.describe(third, signal());
        // Like the readiness check after a failed start.
        if (view?.power === 'off') await driver.start(third, signal());
        return view?.power === 'on';
      });
      const { ipv4 } = await nicOf(third);
      expect(ipv4).not.toBe(taken);
      expect((await driver.describe(third, signal()))?.privateIps).toContain(ipv4);
    } finally {
      await driver.terminate(third, signal());
    }
    expect((await nicOf(victim)).ipv4).toBe(taken);
  });

  it('has user ids that no other container has', async () => {
    const maps = await Promise.all(
      [attacker, victim].map(async (machine) =>
        readFileSync(`/proc/${(await nicOf(machine)).pid}/uid_map`, 'utf8')
          .trim()
          .split(/\s+/)
          .map(Number),
      ),
    );
    const [first = [], second = []] = maps.toSorted((a, b) => (a[1] ?? 0) - (b[1] ?? 0));
    expect((first[1] ?? 0) + (first[2] ?? 0)).toBeLessThanOrEqual(second[1] ?? 0);
  });

  it('succeeds with every attack if the filters are off', async () => {
    await takeFiltersOff();
    const outcomes: Record<string, boolean> = {};
    for (const [name, attack] of Object.entries(attacks)) outcomes[name] = await comesTo(true, attack);
    expect(outcomes).toEqual(Object.fromEntries(Object.keys(attacks).map((name) => [name, true])));
  });

  it.each([
    [
      'start',
      () => driver.stop(attacker, { graceMs: 0 }, signal()).then(() => driver.start(attacker, signal())),
    ],
    ['reboot', () => driver.reboot(attacker, { graceMs: 0 }, signal())],
  ] as const)(
    'with an unfiltered nic gets an address and filters at its next %s',
    { timeout: hangMs },
    async (_, restart) => {
      const mac = await makeNicOld(attacker);
      expect(mac).not.toBeNull();
      expect((await driver.describe(attacker, signal()))?.isUnfiltered).toBe(true);
      await restart();
      const instance = await retryOnStall((within) => new IncusInstances(client).get(attacker, within));
      expect(isFiltered(instance)).toBe(true);
      expect(macOf(instance)).toBe(mac);
      await serve(attacker);
      const view = await driver.describe(attacker, signal());
      expect(view?.isUnfiltered).toBeUndefined();
      expect(view?.privateIps).toContain((await nicOf(attacker)).ipv4);
      for (const name of ['claims the address by ARP', 'claims the IPv6 address by neighbour discovery']) {
        const attack = attacks[name] ?? expect.fail(`There is no attack that ${name}.`);
        expect(await comesTo(false, attack), name).toBe(true);
      }
    },
  );
});
