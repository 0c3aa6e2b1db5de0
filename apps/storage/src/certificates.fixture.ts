import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { systemClock, type Clock } from '@millrace/platform/clock';
import { createLogger } from '@millrace/platform/log';
import { watchTlsFiles } from '@millrace/platform/tls';
import { connectVolumeBackend, type VolumeBackend } from '@millrace/storage';
import { eventually } from '@millrace/testing';
import { AcceptedClients, watchAcceptedClients } from './accepted-clients.ts';
import { createApi, minTlsVersion, type ApiDeps } from './api.ts';

export interface Pair {
  readonly certificate: string;
  readonly key: string;
}

/** The API of an agent without volumes, and workers, with certificates in files. */
export interface CertificateHarness extends AsyncDisposable {
  readonly endpoint: string;
  write(changes: Partial<CertificateFiles>): Promise<void>;
  connect(endpoint?: string): Promise<VolumeBackend>;
  /** Waits until the agent and the workers have logged this text so many times after the last `write`. */
  logged(text: string, times?: number): Promise<void>;
  /** Everything that was logged. */
  log(): string;
}

interface CertificateFiles {
  readonly agent: Pair;
  /** PEM. */
  readonly acceptedClients: string;
  readonly worker: Pair;
  /** PEM. */
  readonly pinned: string;
}

export const neverAborted = new AbortController().signal;

/** Files are compared every ten seconds, which here pass in ten milliseconds. */
const fastClock: Clock = {
  now: () => systemClock.now(),
  nowMs: () => systemClock.nowMs(),
  sleep: (ms, signal) => systemClock.sleep(ms, signal),
  after: (ms, action) => systemClock.after(ms, action),
  monotonicMs: () => systemClock.monotonicMs() * 1_000,
};
const everyMs = 10;

const noVolumes: ApiDeps['volumes'] = {
  // Takes some time, so that calls are in progress whenever certificates change.
  list: async () => {
    await systemClock.sleep(5);
    return [];
  },
  ensure: () => Promise.reject(new Error('not part of this test')),
  remove: () => Promise.reject(new Error('not part of this test')),
  removeSnapshot: () => Promise.reject(new Error('not part of this test')),
  snapshot: () => Promise.reject(new Error('not part of this test')),
};

export async function openCertificateHarness(files: CertificateFiles): Promise<CertificateHarness> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mr-certificates-'));
  const file = (name: string): string => path.join(folder, name);
  let [text, seen] = ['', 0];
  const destination = { write: (line: string) => void (text += line) };
  const log = createLogger({ name: 'test', level: 'info', destination });

  // One file after the other and not atomically, as an operator copies them.
  async function write({ agent, acceptedClients, worker, pinned }: Partial<CertificateFiles>): Promise<void> {
    seen = text.length;
    const contents = {
      ...(agent !== undefined && { 'agent.crt': agent.certificate, 'agent.key': agent.key }),
      ...(acceptedClients !== undefined && { 'clients.crt': acceptedClients }),
      ...(worker !== undefined && { 'worker.crt': worker.certificate, 'worker.key': worker.key }),
      ...(pinned !== undefined && { 'pinned.crt': pinned }),
    };
    for (const [name, content] of Object.entries(contents)) await writeFile(file(name), content);
  }

  await write(files);
  const clock = systemClock;
  const clients = new AcceptedClients(files.acceptedClients, clock);
  const { certificate, key } = files.agent;
  const api = createApi({ volumes: noVolumes, clock, log, certificate, key, clients });
  const common = { clock, log, everyMs };
  const watches = [
    watchAcceptedClients({ clients, file: file('clients.crt'), loaded: files.acceptedClients, ...common }),
    watchTlsFiles({
      ...{ server: api, certFile: file('agent.crt'), keyFile: file('agent.key') },
      ...{ loaded: { cert: certificate, key }, minVersion: minTlsVersion, ...common },
    }),
  ];
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
  const endpoint = `https://127.0.0.1:${(api.address() as AddressInfo).port}`;
  const backends: VolumeBackend[] = [];
  return {
    endpoint,
    write,
    connect: async (otherEndpoint = endpoint) => {
      const backend = await connectVolumeBackend(
        { kind: 'nfs', endpoint: otherEndpoint, credentialRef: 'storage', settings: {} },
        {
          clock: fastClock,
          log,
          credentials: {
            storage: {
              certificateFile: file('worker.crt'),
              keyFile: file('worker.key'),
              serverCertificateFile: file('pinned.crt'),
            },
          },
        },
      );
      backends.push(backend);
      return backend;
    },
    logged: async (expected, times = 1) => {
      await eventually({ what: expected }, () => text.slice(seen).split(expected).length > times);
    },
    log: () => text,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(watches.map((watch) => watch.stop()));
      await Promise.all(backends.map((backend) => backend.close()));
      api.closeAllConnections();
      api.close();
      await rm(folder, { recursive: true });
    },
  };
}
