import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { systemClock } from '@millrace/platform/clock';
import { down, ensureUp, killNode, type IncusClusterEndpoints } from '@millrace/services';
import { startTcpProxy, testLog, type TcpProxy } from '@millrace/testing';
import { expect } from 'vitest';
import { z } from 'zod';
import { describeDriver, type DriverWorld, type WorldFacts } from '../conformance/index.ts';
import { isDriverError } from '../driver-error.ts';
import type { ComputeDriver, MachineView, MachineWish } from '../driver.ts';
import { aliasSchema, instancesSchema, membersSchema, serverSchema } from './incus-answers.ts';
import { IncusClient } from './incus-client.ts';
import { createIncusDriver, type IncusDriverOptions } from './index.ts';
import { instanceBody } from './incus-instance.ts';
import { ensureProject } from './incus-project.ts';
import { settingsOf } from './incus-settings.ts';

// The whole suite on three real daemons. They are this file's own, because it kills them.

const abilities = {
  exec: true,
  setKeys: true,
  runUserData: true,
  consoleLog: true,
  metrics: true,
  events: true,
  mapsPorts: true,
  sharesNodes: true,
};
const gpuPciAddresses = ['1b', '43', '52', '61', '9d', 'c3', 'd1', 'df'].map((bus) => `0000:${bus}:00.0`);
/** From the row to the middle of the image. */
const unpackingMs = 20;
const bounds = { callMs: 40_000, bootMs: 20_000, failoverMs: 60_000 };

class IncusWorld implements DriverWorld {
  readonly abilities = abilities;
  readonly runsPrograms = true;
  readonly hasCloudInit = false;
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'mr-'));
  readonly #stateDir = path.join(this.#folder, 's');
  #cluster: IncusClusterEndpoints | null = null;
  #proxies: readonly TcpProxy[] = [];
  #client: IncusClient | null = null;
  #lastPort = 20_000;

  async open(): Promise<WorldFacts> {
    chmodSync(this.#folder, 0o755);
    const { members, sshImageAlias } = await this.#up();
    // Connections for events are broken on the way, so that the engine itself goes on.
    this.#proxies = await Promise.all(members.map(({ url }) => startTcpProxy(url)));
    this.#client = new IncusClient(this.#reach(), systemClock);
    await this.#beNervous();
    return {
      nodes: members.map(({ name }) => ({ name, gpuPciAddresses })),
      image: sshImageAlias,
      unknownImage: 'no-such-image',
      size: { cpuCount: 1, ramMb: 128, diskGb: 1 },
      freePort: async () => {
        this.#lastPort += 1;
        return this.#lastPort;
      },
      bounds,
    };
  }

  async close(): Promise<void> {
    await this.#client?.close();
    await Promise.all(this.#proxies.map((proxy) => proxy.close()));
    await down([], { stateDir: this.#stateDir, purge: true });
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async connect(): Promise<ComputeDriver> {
    return createIncusDriver(this.#options());
  }

  reach(view: MachineView, externalPort: number): { host: string; port: number } {
    return { host: view.address ?? expect.fail('The node has no address.'), port: externalPort };
  }

  advance(ms: number): Promise<void> {
    return systemClock.sleep(ms);
  }

  /** The row and its disk are there; whoever made them died before it could say so. */
  async leaveHalfMade(wish: MachineWish): Promise<void> {
    const signal = AbortSignal.timeout(bounds.callMs);
    const options = this.#options();
    const project = await ensureProject(this.#raw(), settingsOf(options), wish.orgId, signal);
    const member = this.#endpoints().members.find(({ name }) => name === wish.nodeName);
    const place = {
      fingerprint: await this.#fingerprint(signal),
      listenAddress: member?.address ?? '',
      nicAddress: null,
      isBridged: true,
    };
    const body = instanceBody(wish, place, settingsOf(options));
    const query = { project, target: wish.nodeName };
    await this.#raw().write(
      { what: 'leave a half', method: 'POST', path: '/1.0/instances', query, body },
      signal,
    );
  }

  async plantForeign(): Promise<{ externalId: string; remove(): Promise<void> }> {
    const signal = AbortSignal.timeout(bounds.callMs);
    const externalId = randomUUID();
    const name = `mr-${externalId}`;
    const body = { name, source: { type: 'image', alias: this.#endpoints().imageAlias } };
    const what = 'plant a stranger';
    await this.#raw().write({ what, method: 'POST', path: '/1.0/instances', body }, signal);
    const remove = (): Promise<void> =>
      this.#raw().write(
        { what: 'remove it', method: 'DELETE', path: `/1.0/instances/${name}` },
        AbortSignal.timeout(bounds.callMs),
      );
    return { externalId, remove };
  }

  async loseEvents(): Promise<void> {
    for (const proxy of this.#proxies) proxy.dropConnections();
  }

  /** The daemon dies while it unpacks the image, which is the worst moment: what is half unpacked looks whole to it. */
  async killEngineDuringCreate(create: () => Promise<void>): Promise<void> {
    const member = this.#endpoints().members[0]?.name ?? '';
    await this.#forgetImage(member);
    const before = await this.#countInstances();
    const call = create().catch(() => undefined);
    while ((await this.#countInstances()) === before) await systemClock.sleep(2);
    await systemClock.sleep(unpackingMs);
    await this.killMember(member);
    // The call waits for what the dead daemon did; it learns that nobody knows when the daemon is back.
    await Promise.all([call, this.heal()]);
  }

  async killMember(nodeName: string): Promise<void> {
    await killNode(nodeName, { stateDir: this.#stateDir });
  }

  async killLeader(): Promise<string> {
    const schema = z.array(z.object({ server_name: z.string(), roles: z.array(z.string()) }));
    const members = await this.#raw().read(membersQuestion, schema, AbortSignal.timeout(bounds.callMs));
    const leader = members.find(({ roles }) => roles.includes('database-leader'));
    const name = leader?.server_name ?? expect.fail('The cluster has no leader.');
    await this.killMember(name);
    return name;
  }

  /** Up, and every member's own word that it sees all others. */
  async heal(): Promise<void> {
    await this.#up();
    for (const { socketPath } of this.#endpoints().members) {
      const member = new IncusClient({ socketPath }, systemClock);
      try {
        await eventually(async () => {
          const signal = AbortSignal.timeout(5_000);
          await member.read({ what: 'say who it is', path: '/1.0' }, serverSchema, signal);
          const members = await member.read(membersQuestion, membersSchema, signal);
          return members.every(({ status }) => status === 'Online');
        });
      } finally {
        await member.close();
      }
    }
  }

  async #up(): Promise<IncusClusterEndpoints> {
    const place = { stateDir: this.#stateDir, portBase: 'auto' } as const;
    const { incusCluster } = await ensureUp(['incus'], { ...place, topology: 'cluster' });
    this.#cluster = incusCluster ?? expect.fail('The cluster has no endpoints.');
    return this.#cluster;
  }

  /** Members are missed after 11 s, the least that Incus allows, so that the tests of dead ones do not take 20. */
  async #beNervous(): Promise<void> {
    const body = { config: { 'cluster.offline_threshold': '11' } };
    const what = 'notice dead members sooner';
    await this.#raw().write(
      { what, method: 'PATCH', path: '/1.0', body },
      AbortSignal.timeout(bounds.callMs),
    );
  }

  async #forgetImage(nodeName: string): Promise<void> {
    const signal = AbortSignal.timeout(bounds.callMs);
    const path = `/1.0/storage-pools/default/volumes/image/${await this.#fingerprint(signal)}`;
    const query = { target: nodeName };
    await this.#raw()
      .write({ what: 'forget the image', method: 'DELETE', path, query }, signal)
      .catch((error: unknown) => {
        if (!isDriverError(error, 'not_found')) throw error;
      });
  }

  async #fingerprint(signal: AbortSignal): Promise<string> {
    const path = `/1.0/images/aliases/${this.#endpoints().sshImageAlias}`;
    return (await this.#raw().read({ what: 'find the image', path }, aliasSchema, signal)).target;
  }

  async #countInstances(): Promise<number> {
    const asked = { what: 'count', path: '/1.0/instances', query: { 'all-projects': 'true' } };
    return (await this.#raw().read(asked, instancesSchema, AbortSignal.timeout(bounds.callMs))).length;
  }

  #options(): IncusDriverOptions {
    return {
      ...this.#reach(),
      instanceType: 'container',
      network: this.#endpoints().network,
      storagePool: 'default',
      sshUser: 'ubuntu',
      clock: systemClock,
      log: testLog('incus'),
    };
  }

  #reach(): Pick<Extract<IncusDriverOptions, { endpoints: readonly string[] }>, 'endpoints' | 'tls'> {
    const { members, clientCertificateFile, clientKeyFile, serverCertificateFile } = this.#endpoints();
    return {
      endpoints: members.map(({ url }, index) => this.#proxies[index]?.rewrite(url) ?? url),
      tls: {
        clientCertificate: readFileSync(clientCertificateFile, 'utf8'),
        clientKey: readFileSync(clientKeyFile, 'utf8'),
        serverCertificate: readFileSync(serverCertificateFile, 'utf8'),
      },
    };
  }

  #endpoints(): IncusClusterEndpoints {
    return this.#cluster ?? expect.fail('The cluster is not up.');
  }

  #raw(): IncusClient {
    return this.#client ?? expect.fail('The cluster is not up.');
  }
}

const membersQuestion = { what: 'list members', path: '/1.0/cluster/members', query: { recursion: '1' } };

async function eventually(look: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    if (await look().catch(() => false)) return;
    await systemClock.sleep(200);
  }
  expect.fail('The cluster did not come together again.');
}

describeDriver('Incus', new IncusWorld(), {
  testTimeoutMs: 60_000,
  crashTimeoutMs: 120_000,
  hookTimeoutMs: 180_000,
});
