import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '@millrace/platform/clock';
import { PRICE } from './gateway.fixture.ts';

/** An engine whose responses the test writes. */
export interface ManualEngine {
  readonly address: string;
  /** Requests in progress, in order of arrival. */
  readonly pending: ServerResponse[];
  dropped: number;
  close(): void;
}

export async function startManualEngine(): Promise<ManualEngine> {
  const pending: ServerResponse[] = [];
  const server = createServer((request, response) => {
    if (request.method !== 'POST') {
      response.end('{}');
      return;
    }
    request.resume();
    request.on('end', () => pending.push(response));
    response.on('close', () => {
      if (!response.writableFinished) engine.dropped += 1;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const engine = {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    pending: pending,
    dropped: 0,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
  return engine;
}

export async function until(isSo: () => boolean): Promise<void> {
  const untilMs = systemClock.monotonicMs() + 120_000;
  while (!isSo()) {
    if (systemClock.monotonicMs() > untilMs) throw new Error('The condition was not met within two minutes.');
    await systemClock.sleep(2);
  }
}

/**
 * Waits until client, gateway and engine have read their input. All run in this process, and after a stall timers run before
 * reads, so a sleep alone is not enough.
 */
export async function delivered(): Promise<void> {
  await systemClock.sleep(100);
  for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

export const costOf = (prompt: number, completion: number): bigint =>
  (BigInt(prompt) * PRICE.prompt + BigInt(completion) * PRICE.completion + 999_999n) / 1_000_000n;
