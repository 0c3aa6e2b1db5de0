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
import { describeDriver, type DriverWorld, type WorldFacts } from '../conformance/index.ts';
import { isDriverError } from '../driver-error.ts';
import type { ComputeDriver, MachineView, MachineWish } from '../driver.ts';
import { aliasSchema, instancesSchema, serverSchema } from './incus-answers.ts';
import { IncusClient } from './incus-client.ts';
import { createIncusDriver, openIncusTrust, type IncusDriverOptions } from './index.ts';
import { instanceBody } from './incus-instance.ts';
import { settingsOf } from './incus-settings.ts';

// The suite as it is on the marketplace: somebody else's daemon, joined by join.sh, where our certificate is good
// for one restricted project. Every run tries the parts in which a shared project could make a difference; all of them
// take some minutes, with MILLRACE_CONFORMANCE=whole. What a driver may not do there is done over the daemon's own socket, as its owner would.

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
const bounds = { callMs: 40_000, bootMs: 20_000, failoverMs: 60_000 };
const project = 'conformance';
/** From the row to the middle of the image. */
const unpackingMs = 20;

class ProjectWorld implements DriverWorld {
  readonly abilities = abilities;
  readonly runsPrograms = true;
  readonly hasCloudInit = false;
  #supplied: SupplierHosts | null = null;
  #proxy: TcpProxy | null = null;
  #owner: IncusClient | null = null;
  #certificate: TestCertificate | null = null;
  #nodeName = '';
  #lastPort = 21_000;

  async open(): Promise<WorldFacts> {
    this.#supplied = await startSupplierHosts(1);
    const host = this.#host();
    this.#certificate = await makeCertificate('millrace');
    this.#owner = new IncusClient({ socketPath: host.socketPath }, systemClock);
    const token = await joinTokenOf(host);
    // Connections for events are broken on the way, so that the engine itself goes on.
    this.#proxy = await startTcpProxy(host.url);
    const trust = openIncusTrust(this.#reach(), systemClock);
    await trust.redeem(token, AbortSignal.timeout(bounds.callMs));
    await trust.close();
    this.#nodeName = (await this.#ask('/1.0', serverSchema)).environment.server_name;
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

  /** The row and its disk are there; whoever made them died before it could say so. */
  async leaveHalfMade(wish: MachineWish): Promise<void> {
    const signal = AbortSignal.timeout(bounds.callMs);
    const place = {
      fingerprint: await this.#fingerprint(),
      listenAddress: '0.0.0.0',
      nicAddress: null,
      isBridged: true,
    };
    const body = instanceBody(wish, place, settingsOf(this.#options()));
    const asked = {
      what: 'leave a half',
      method: 'POST',
      path: '/1.0/instances',
      query: { project },
      body,
    } as const;
    await this.#raw().write(asked, signal);
  }

  /** Its owner's own instance, named as if it were ours, in the very project. */
  async plantForeign(): Promise<{ externalId: string; remove(): Promise<void> }> {
    const externalId = randomUUID();
    const name = `mr-${externalId}`;
    const { storagePool } = this.#host();
    const body = {
      name,
      source: { type: 'image', fingerprint: await this.#fingerprint() },
      profiles: [],
      devices: { root: { type: 'disk', path: '/', pool: storagePool } },
    };
    const act = (method: 'POST' | 'DELETE', path: string): Promise<void> =>
      this.#raw().write(
        { what: 'plant a stranger', method, path, query: { project }, ...(method === 'POST' && { body }) },
        AbortSignal.timeout(bounds.callMs),
      );
    await act('POST', '/1.0/instances');
    return { externalId, remove: () => act('DELETE', `/1.0/instances/${name}`) };
  }

  async loseEvents(): Promise<void> {
    this.#proxy?.dropConnections();
  }

  /** The daemon dies while it unpacks the image, which is the worst moment: what is half unpacked looks whole to it. */
  async killEngineDuringCreate(create: () => Promise<void>): Promise<void> {
    const path = `/1.0/storage-pools/default/volumes/image/${await this.#fingerprint()}`;
    await this.#raw()
      .write({ what: 'forget the image', method: 'DELETE', path }, AbortSignal.timeout(bounds.callMs))
      .catch((error: unknown) => {
        if (!isDriverError(error, 'not_found')) throw error;
      });
    const count = async (): Promise<number> =>
      (await this.#ask(`/1.0/instances?project=${project}`, instancesSchema)).length;
    const before = await count();
    const call = create().catch(() => undefined);
    while ((await count()) === before) await systemClock.sleep(2);
    await systemClock.sleep(unpackingMs);
    await this.#host().kill();
    await Promise.all([call, this.#host().start()]);
  }

  async heal(): Promise<void> {
    await this.#host().start();
  }

  async #fingerprint(): Promise<string> {
    const path = `/1.0/images/aliases/${this.#host().sshImageAlias}?project=${project}`;
    return (await this.#ask(path, aliasSchema)).target;
  }

  #ask<T>(
    path: string,
    schema: Parameters<IncusClient['read']>[1] & { parse(value: unknown): T },
  ): Promise<T> {
    const signal = AbortSignal.timeout(bounds.callMs);
    return this.#raw().read({ what: 'look', path }, schema, signal) as Promise<T>;
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
    const certificate = this.#certificate ?? expect.fail('There is no certificate.');
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
    return this.#supplied?.hosts[0] ?? expect.fail('The host is not up.');
  }

  #raw(): IncusClient {
    return this.#owner ?? expect.fail('The host is not up.');
  }
}

/** Runs join.sh towards somebody who only listens, and answers the trust token that it hands over. */
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

describeDriver('Incus in one project', new ProjectWorld(), {
  testTimeoutMs: 60_000,
  crashTimeoutMs: 120_000,
  hookTimeoutMs: 180_000,
  parts:
    process.env['MILLRACE_CONFORMANCE'] === 'whole'
      ? undefined
      : ['ending', 'lists and events', 'refusals', 'crashes'],
});
