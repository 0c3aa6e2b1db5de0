import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { systemClock, type Clock } from '@millrace/platform/clock';
import { createLogger } from '@millrace/platform/log';
import { eventually, testIds } from '@millrace/testing';
import { connectDriver, type ConnectDeps } from '../connect.ts';
import type { ComputeDriver } from '../driver.ts';

export interface Pair {
  readonly certificate: string;
  readonly key: string;
}

interface CredentialFiles {
  readonly client: Pair;
  /** PEM. */
  readonly pinned: string;
}

/** Drivers whose credential is in files that a test replaces. */
export interface CertificateHarness extends AsyncDisposable {
  write(changes: Partial<CredentialFiles>): Promise<void>;
  connect(endpoint?: string): Promise<ComputeDriver>;
  /** Waits until so many drivers have logged that they use what the last `write` has written. */
  reloaded(times?: number): Promise<void>;
  log(): string;
}

/** Files are compared every ten seconds, which here pass in ten milliseconds. */
const fastClock: Clock = {
  now: () => systemClock.now(),
  nowMs: () => systemClock.nowMs(),
  sleep: (ms, signal) => systemClock.sleep(ms, signal),
  after: (ms, action) => systemClock.after(ms, action),
  monotonicMs: () => systemClock.monotonicMs() * 1_000,
};

export async function openIncusCertificates(
  endpoint: string,
  files: CredentialFiles,
): Promise<CertificateHarness> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mr-incus-tls-'));
  const file = (name: string): string => path.join(folder, name);
  let [text, seen] = ['', 0];
  const destination = { write: (line: string) => void (text += line) };
  const log = createLogger({ name: 'test', level: 'info', destination });
  const credential = {
    certificateFile: file('client.crt'),
    keyFile: file('client.key'),
    serverCertificateFile: file('server.crt'),
  };
  const drivers: ComputeDriver[] = [];

  async function write({ client, pinned }: Partial<CredentialFiles>): Promise<void> {
    seen = text.length;
    if (client !== undefined) {
      await writeFile(credential.certificateFile, client.certificate);
      await writeFile(credential.keyFile, client.key);
    }
    if (pinned !== undefined) await writeFile(credential.serverCertificateFile, pinned);
  }

  await write(files);
  const deps: ConnectDeps = {
    // Incus uses neither here.
    db: undefined as never,
    guard: undefined as never,
    clock: fastClock,
    log,
    credentials: { 'eu-1': credential },
    opensPorts: false,
  };
  return {
    write,
    connect: async (otherEndpoint = endpoint) => {
      const driver = await connectDriver(
        {
          ...{ name: 'eu-1', driver: 'incus', endpoint: otherEndpoint, credentialRef: 'eu-1' },
          settings: { network: 'tenants', storagePool: 'default' },
        },
        deps,
      );
      drivers.push(driver);
      return driver;
    },
    reloaded: async (times = 1) => {
      await eventually({ what: 'the new credential' }, () => {
        return text.slice(seen).split('credential reloaded').length > times;
      });
    },
    log: () => text,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(drivers.map((driver) => driver.close()));
      await rm(folder, { recursive: true });
    },
  };
}

const machine = { orgId: testIds.next('org'), externalId: '0c3c1f6e-6c6f-4f1e-9f39-6a8c8a4f1c11' };
export const neverAborted = new AbortController().signal;

/** Asks for a machine that does not exist, and returns why the question failed. */
export async function failureOf(driver: ComputeDriver): Promise<unknown> {
  try {
    return await driver.describe(machine, neverAborted);
  } catch (error) {
    return error;
  }
}

/** Two drivers that ask every few milliseconds until `stop`. */
export async function startLoad(harness: CertificateHarness) {
  const drivers = await Promise.all([harness.connect(), harness.connect()]);
  const failures: string[] = [];
  let isStopped = false;
  const callers = drivers.flatMap((driver) => [1, 2, 3].map(() => ({ driver, calls: 0 })));
  const running = callers.map(async (caller) => {
    while (!isStopped) {
      const failure = await failureOf(caller.driver);
      if (failure !== null) failures.push(failure instanceof Error ? failure.message : 'found a machine');
      caller.calls += 1;
      await systemClock.sleep(3);
    }
  });
  return {
    /** Waits until each caller has ended its call and then made this many. */
    pass: async (count: number): Promise<void> => {
      const enough = callers.map((caller) => ({ caller, calls: caller.calls + 1 + count }));
      await eventually({ what: 'the calls' }, () =>
        enough.every(({ caller, calls }) => caller.calls >= calls),
      );
    },
    stop: async (): Promise<readonly string[]> => {
      isStopped = true;
      await Promise.all(running);
      return failures;
    },
  };
}
