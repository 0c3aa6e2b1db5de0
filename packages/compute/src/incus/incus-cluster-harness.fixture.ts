import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { systemClock } from '@millrace/platform/clock';
import { down, ensureUp, killNode, type IncusClusterEndpoints } from '@millrace/services';
import { startTcpProxy, testLog, type TcpProxy } from '@millrace/testing';
import { expect } from 'vitest';
import { z } from 'zod';
import type { DriverHarness, HarnessInfo } from '../conformance/index.ts';
import type { ComputeDriver, MachineView, MachineSpec } from '../driver.ts';
import { nicAddresses } from './incus-addresses.ts';
import { aliasSchema, instancesSchema, membersSchema, serverSchema } from './api/schemas.ts';
import { IncusClient } from './api/incus-client.ts';
import { createIncusDriver, type IncusDriverOptions } from './index.ts';
import { instanceBody } from './incus-instance.ts';
import { ensureProject } from './incus-project.ts';
import { settingsOf } from './incus-settings.ts';
import {
  isStallError,
  retryOnStall,
  waitUntilStarted,
  createWithRetry,
  removeWithRetry,
} from './incus-stalls.fixture.ts';

// A cluster of three real daemons. Each test file has its own cluster, because it kills daemons.

const abilities = {
  exec: true,
  setKeys: true,
  runUserData: true,
  consoleLog: true,
  metrics: true,
  events: true,
  mapsPorts: true,
  sharesNodes: true,
  gpuUse: false,
};
const gpuPciAddresses = ['1b', '43', '52', '61', '9d', 'c3', 'd1', 'df'].map((bus) => `0000:${bus}:00.0`);
/** From the creation of the row until the image is half unpacked. */
const unpackingMs = 20;
const bounds = { callMs: 120_000, bootMs: 180_000, failoverMs: 300_000 };

export class IncusClusterHarness implements DriverHarness {
  readonly abilities = abilities;
  readonly runsPrograms = true;
  readonly hasCloudInit = false;
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'mr-'));
  readonly #stateDir = path.join(this.#folder, 's');
  #cluster: IncusClusterEndpoints | null = null;
  #proxies: readonly TcpProxy[] = [];
  #client: IncusClient | null = null;
  #lastPort = 20_000;

  async open(): Promise<HarnessInfo> {
    chmodSync(this.#folder, 0o755);
    const { members, sshImageAlias } = await this.#up();
    // Tests break event connections at these proxies, so that the daemons keep running.
    this.#proxies = await Promise.all(members.map(({ url }) => startTcpProxy(url)));
    this.#client = new IncusClient(this.#reach(), systemClock);
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

  isStalled(error: unknown): boolean {
    return isStallError(error);
  }

  /** Leaves an instance with row and disk, as if its creator had died before it marked the instance as complete. */
  async leaveHalfMade(spec: MachineSpec): Promise<void> {
    const options = this.#options();
    const project = await retryOnStall((signal) =>
      ensureProject(this.#raw(), settingsOf(options), spec.orgId, signal),
    );
    const member = this.#endpoints().members.find(({ name }) => name === spec.nodeName);
    const place = {
      fingerprint: await this.#fingerprint(),
      listenAddress: member?.address ?? '',
      addresses: nicAddresses('10.64.255.254', undefined),
    };
    const body = instanceBody(spec, place, settingsOf(options));
    const query = { project, target: spec.nodeName };
    const half = {
      what: 'create a partial instance',
      method: 'POST',
      path: '/1.0/instances',
      query,
      body,
    } as const;
    await createWithRetry((signal) => this.#raw().write(half, signal));
  }

  async createForeign(): Promise<{ externalId: string; remove(): Promise<void> }> {
    const externalId = randomUUID();
    const path = '/1.0/instances';
    const body = {
      name: `mr-${externalId}`,
      source: { type: 'image', alias: this.#endpoints().imageAlias },
    };
    const creation = { what: 'create a foreign instance', method: 'POST', path, body } as const;
    await createWithRetry((signal) => this.#raw().write(creation, signal));
    const removal = {
      what: 'delete the foreign instance',
      method: 'DELETE',
      path: `${path}/${body.name}`,
    } as const;
    const remove = (): Promise<void> => removeWithRetry((signal) => this.#raw().write(removal, signal));
    return { externalId, remove };
  }

  async loseEvents(): Promise<void> {
    for (const proxy of this.#proxies) proxy.dropConnections();
  }

  /** Kills the daemon at the worst moment: a half-unpacked image looks complete to it. */
  async killEngineDuringCreate(create: () => Promise<void>): Promise<void> {
    const member = this.#endpoints().members[0]?.name ?? '';
    await this.#deleteImage(member);
    const { call } = await waitUntilStarted(create, () => this.#countInstances());
    await systemClock.sleep(unpackingMs);
    await this.killMember(member);
    // The call waits for the operation of the dead daemon, which reports it as lost when it runs again.
    await Promise.all([call, this.heal()]);
  }

  async killMember(nodeName: string): Promise<void> {
    await killNode(nodeName, { stateDir: this.#stateDir });
  }

  async killLeader(): Promise<string> {
    const schema = z.array(z.object({ server_name: z.string(), roles: z.array(z.string()) }));
    const members = await retryOnStall((signal) => this.#raw().read(membersRequest, schema, signal));
    const leader = members.find(({ roles }) => roles.includes('database-leader'));
    const name = leader?.server_name ?? expect.fail('The cluster has no leader.');
    await this.killMember(name);
    return name;
  }

  /** Starts all members and waits until each of them reports all members as online. */
  async heal(): Promise<void> {
    await this.#up();
    for (const { socketPath } of this.#endpoints().members) {
      const member = new IncusClient({ socketPath }, systemClock);
      try {
        await eventually(async () => {
          const signal = AbortSignal.timeout(20_000);
          await member.read({ what: 'identify itself', path: '/1.0' }, serverSchema, signal);
          const members = await member.read(membersRequest, membersSchema, signal);
          return members.every(({ status }) => status === 'Online');
        });
      } finally {
        await member.close();
      }
    }
  }

  async #up(): Promise<IncusClusterEndpoints> {
    const place = { stateDir: this.#stateDir, portBase: 'auto', databaseInMemory: true } as const;
    const { incusCluster } = await ensureUp(['incus'], { ...place, topology: 'cluster' });
    this.#cluster = incusCluster ?? expect.fail('The cluster has no endpoints.');
    return this.#cluster;
  }

  async #deleteImage(nodeName: string): Promise<void> {
    const path = `/1.0/storage-pools/default/volumes/image/${await this.#fingerprint()}`;
    const query = { target: nodeName };
    const removal = { what: 'delete the image copy', method: 'DELETE', path, query } as const;
    await removeWithRetry((signal) => this.#raw().write(removal, signal));
  }

  async #fingerprint(): Promise<string> {
    const path = `/1.0/images/aliases/${this.#endpoints().sshImageAlias}`;
    const request = { what: 'find the image', path };
    return (await retryOnStall((signal) => this.#raw().read(request, aliasSchema, signal))).target;
  }

  async #countInstances(): Promise<number> {
    const request = {
      what: 'count the instances',
      path: '/1.0/instances',
      query: { 'all-projects': 'true' },
    };
    return (await retryOnStall((signal) => this.#raw().read(request, instancesSchema, signal))).length;
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
    return this.#cluster ?? expect.fail('The cluster is not running.');
  }

  #raw(): IncusClient {
    return this.#client ?? expect.fail('The cluster is not running.');
  }
}

const membersRequest = { what: 'list members', path: '/1.0/cluster/members', query: { recursion: '1' } };

async function eventually(look: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 1_000; attempt += 1) {
    if (await look().catch(() => false)) return;
    await systemClock.sleep(200);
  }
  expect.fail('The cluster did not recover.');
}
