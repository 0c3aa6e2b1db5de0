import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '@millrace/platform/clock';
import { createNetGuard } from '@millrace/platform/net';
import {
  makeCertificate,
  startSupplierHosts,
  startTcpProxy,
  testLog,
  type SupplierHost,
  type SupplierHosts,
  type TcpProxy,
  type TestCertificate,
} from '@millrace/testing';
import { expect } from 'vitest';
import { describeDriver, type DriverHarness, type HarnessInfo } from '../conformance/index.ts';
import type { ComputeDriver, MachineView, MachineSpec } from '../driver.ts';
import { nicAddresses } from './incus-addresses.ts';
import { aliasSchema, instancesSchema, serverSchema } from './api/schemas.ts';
import { IncusClient } from './api/incus-client.ts';
import { createIncusDriver, openIncusTrust, type IncusDriverOptions } from './index.ts';
import { instanceBody } from './incus-instance.ts';
import { settingsOf } from './incus-settings.ts';
import {
  isStallError,
  retryOnStall,
  waitUntilStarted,
  createWithRetry,
  removeWithRetry,
} from './incus-stalls.fixture.ts';

// The whole suite as on the marketplace: a supplier's daemon, joined by join.sh, with a certificate for one restricted project.
// Steps that the driver must not do use the daemon's own socket, as its owner would.

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
const bounds = { callMs: 120_000, bootMs: 180_000, failoverMs: 300_000 };
const project = 'conformance';
/** From the creation of the row until the image is half unpacked. */
const unpackingMs = 20;

class ProjectHarness implements DriverHarness {
  readonly abilities = abilities;
  readonly runsPrograms = true;
  readonly hasCloudInit = false;
  #supplied: SupplierHosts | null = null;
  #proxy: TcpProxy | null = null;
  #owner: IncusClient | null = null;
  #certificate: TestCertificate | null = null;
  #nodeName = '';
  #lastPort = 21_000;

  async open(): Promise<HarnessInfo> {
    this.#supplied = await startSupplierHosts(1);
    const host = this.#host();
    this.#certificate = await makeCertificate('millrace');
    this.#owner = new IncusClient({ socketPath: host.socketPath }, systemClock);
    const token = await joinTokenOf(host);
    // Tests break event connections at this proxy, so that the daemon keeps running.
    this.#proxy = await startTcpProxy(host.url);
    const trust = openIncusTrust(this.#reach(), systemClock);
    await retryOnStall((signal) => trust.redeem(token, signal));
    await trust.close();
    this.#nodeName = (await this.#request('/1.0', serverSchema)).environment.server_name;
    return {
      nodes: [{ name: this.#nodeName, gpuPciAddresses }],
      image: host.sshImageAlias,
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
    await this.#owner?.close();
    await this.#proxy?.close();
    await this.#supplied?.[Symbol.asyncDispose]();
  }

  async connect(): Promise<ComputeDriver> {
    return createIncusDriver(this.#options());
  }

  reach(_view: MachineView, externalPort: number): { host: string; port: number } {
    return { host: this.#host().address, port: externalPort };
  }

  advance(ms: number): Promise<void> {
    return systemClock.sleep(ms);
  }

  isStalled(error: unknown): boolean {
    return isStallError(error);
  }

  /** Leaves an instance with row and disk, as if its creator had died before it marked the instance as complete. */
  async leaveHalfMade(spec: MachineSpec): Promise<void> {
    const place = {
      fingerprint: await this.#fingerprint(),
      listenAddress: '0.0.0.0',
      addresses: nicAddresses('10.64.255.254', undefined),
    };
    const body = instanceBody(spec, place, settingsOf(this.#options()));
    const request = {
      what: 'create a partial instance',
      method: 'POST',
      path: '/1.0/instances',
      query: { project },
      body,
    } as const;
    await createWithRetry((signal) => this.#raw().write(request, signal));
  }

  /** An instance of the daemon's owner in the same project, with a name like an owned one. */
  async createForeign(): Promise<{ externalId: string; remove(): Promise<void> }> {
    const externalId = randomUUID();
    const name = `mr-${externalId}`;
    const { storagePool } = this.#host();
    const body = {
      name,
      source: { type: 'image', fingerprint: await this.#fingerprint() },
      profiles: [],
      devices: { root: { type: 'disk', path: '/', pool: storagePool } },
    };
    const path = '/1.0/instances';
    const what = 'change a foreign instance';
    const creation = { what, method: 'POST', path, query: { project }, body } as const;
    const removal = { what, method: 'DELETE', path: `${path}/${name}`, query: { project } } as const;
    await createWithRetry((signal) => this.#raw().write(creation, signal));
    return { externalId, remove: () => removeWithRetry((signal) => this.#raw().write(removal, signal)) };
  }

  async loseEvents(): Promise<void> {
    this.#proxy?.dropConnections();
  }

  /** Kills the daemon at the worst moment: a half-unpacked image looks complete to it. */
  async killEngineDuringCreate(create: () => Promise<void>): Promise<void> {
    const path = `/1.0/storage-pools/default/volumes/image/${await this.#fingerprint()}`;
    const removal = { what: 'delete the image copy', method: 'DELETE', path } as const;
    await removeWithRetry((signal) => this.#raw().write(removal, signal));
    const count = async (): Promise<number> =>
      (await this.#request(`/1.0/instances?project=${project}`, instancesSchema)).length;
    const { call } = await waitUntilStarted(create, count);
    await systemClock.sleep(unpackingMs);
    await this.#host().kill();
    await Promise.all([call, this.#host().start()]);
  }

  async heal(): Promise<void> {
    await this.#host().start();
  }

  async #fingerprint(): Promise<string> {
    const path = `/1.0/images/aliases/${this.#host().sshImageAlias}?project=${project}`;
    return (await this.#request(path, aliasSchema)).target;
  }

  #request<T>(
    path: string,
    schema: Parameters<IncusClient['read']>[1] & { parse(value: unknown): T },
  ): Promise<T> {
    const request = { what: 'read as owner', path };
    return retryOnStall((signal) => this.#raw().read(request, schema, signal)) as Promise<T>;
  }

  #options(): IncusDriverOptions {
    const { network, storagePool } = this.#host();
    return {
      ...this.#reach(),
      instanceType: 'container',
      network,
      storagePool,
      project,
      listenAddress: '0.0.0.0',
      sshUser: 'ubuntu',
      clock: systemClock,
      log: testLog('incus'),
    };
  }

  #reach() {
    const host = this.#host();
    const certificate = this.#certificate ?? expect.fail('The harness has no certificate.');
    return {
      endpoints: [this.#proxy?.rewrite(host.url) ?? host.url],
      tls: {
        clientCertificate: certificate.certificate,
        clientKey: certificate.key,
        serverCertificate: readFileSync(host.serverCertificateFile, 'utf8'),
      },
      guard: createNetGuard({ allowedNetworks: ['127.0.0.0/8', '198.18.0.0/15'] }),
    };
  }

  #host(): SupplierHost {
    return this.#supplied?.hosts[0] ?? expect.fail('The host is not running.');
  }

  #raw(): IncusClient {
    return this.#owner ?? expect.fail('The host is not running.');
  }
}

/** Runs join.sh against a server that only records, and returns the trust token that it sends. */
async function joinTokenOf(host: SupplierHost): Promise<string> {
  const bodies: string[] = [];
  const marketplace = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      bodies.push(body);
      response.writeHead(202).end('{}');
    });
  });
  marketplace.listen(0, '127.0.0.1');
  await once(marketplace, 'listening');
  const { port } = marketplace.address() as AddressInfo;
  await host.join({ url: `http://127.0.0.1:${port}`, token: `mrj_${'0'.repeat(64)}`, name: 'host', project });
  marketplace.close();
  const { incusToken } = JSON.parse(bodies[0] ?? '') as { incusToken: string };
  return incusToken;
}

describeDriver('Incus in one project', new ProjectHarness(), {
  testTimeoutMs: 600_000,
  crashTimeoutMs: 600_000,
  hookTimeoutMs: 600_000,
});
