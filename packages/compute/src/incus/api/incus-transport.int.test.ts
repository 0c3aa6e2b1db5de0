import { readFileSync } from 'node:fs';
import { systemClock } from '@millrace/platform/clock';
import type { PinnedTls } from '@millrace/platform/tls';
import { startStopwatch, startTcpProxy, useIncusCluster, scaledLimitMs } from '@millrace/testing';
import { expect, it } from 'vitest';
import { isDriverError } from '../../driver-error.ts';
import { serverSchema } from './schemas.ts';
import { IncusClient } from './incus-client.ts';

// Uses the cluster that test files share, without changes.

async function reach(): Promise<{ endpoints: string[]; tls: PinnedTls }> {
  const cluster = await useIncusCluster();
  return {
    endpoints: cluster.members.map(({ url }) => url),
    tls: {
      clientCertificate: readFileSync(cluster.clientCertificateFile, 'utf8'),
      clientKey: readFileSync(cluster.clientKeyFile, 'utf8'),
      serverCertificate: readFileSync(cluster.serverCertificateFile, 'utf8'),
    },
  };
}

const who = { what: 'identify itself', path: '/1.0' };
const soon = (): AbortSignal => AbortSignal.timeout(300_000);

async function nameOf(client: IncusClient): Promise<string> {
  const { environment } = await client.read(who, serverSchema, soon());
  return environment.server_name;
}

it('IncusTransport skips an unreachable member and then prefers the one that responded', async () => {
  const { endpoints, tls } = await reach();
  // Port 1 is closed.
  const client = new IncusClient(
    { endpoints: ['https://127.0.0.1:1', ...endpoints.slice(1)], tls },
    systemClock,
  );
  expect([await nameOf(client), await nameOf(client)]).toEqual(['incus-2', 'incus-2']);
  // A write that was not sent also moves on: here a daemon refuses it, not the closed port.
  const again = new IncusClient(
    { endpoints: ['https://127.0.0.1:1', ...endpoints.slice(1)], tls },
    systemClock,
  );
  const wrong = again.write({ what: 'x', method: 'PUT', path: '/1.0/projects/no-such', body: {} }, soon());
  await expect(wrong).rejects.toSatisfy((error) => isDriverError(error, 'not_found'));
  await Promise.all([client.close(), again.close()]);
});

it('IncusTransport waits once, for a limited time, for a member that accepts connections and does not respond', async () => {
  const { endpoints, tls } = await reach();
  await using silent = await startTcpProxy(endpoints[0] ?? '');
  silent.pause();
  const client = new IncusClient(
    { endpoints: [silent.rewrite(endpoints[0] ?? ''), ...endpoints.slice(1)], tls },
    systemClock,
  );
  expect(await nameOf(client)).toBe('incus-2');
  const stopwatch = startStopwatch();
  expect(await nameOf(client)).toBe('incus-2');
  expect(await stopwatch.elapsedMs()).toBeLessThan(scaledLimitMs(3_000));
  await client.close();
});

it('IncusTransport sends nothing to a daemon with another certificate than the pinned one', async () => {
  const { endpoints, tls } = await reach();
  const pinnedWrong = { ...tls, serverCertificate: tls.clientCertificate };
  const client = new IncusClient({ endpoints, tls: pinnedWrong }, systemClock);
  await expect(nameOf(client)).rejects.toSatisfy((error) => isDriverError(error, 'unavailable'));
  const request = { what: 'listen', path: '/1.0/events', maxBytes: 1_024, attach: () => undefined };
  await expect(client.openSocket(request, soon())).rejects.toSatisfy((error) =>
    isDriverError(error, 'unavailable'),
  );
  await client.close();
});
