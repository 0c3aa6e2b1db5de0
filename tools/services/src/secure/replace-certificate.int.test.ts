import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

import { expect, test } from 'vitest';

import { ensureUp, replaceCertificate } from '../index.ts';
import { createPrivateSite } from '../private-site.ts';

/** The 8 bytes with which a client of PostgreSQL asks for TLS. */
const postgresSslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** The exchange of client and server before TLS begins. */
const prefaces: Readonly<Record<string, (socket: Socket) => Promise<void>>> = {
  postgres: async (socket) => {
    socket.write(postgresSslRequest);
    await once(socket, 'data');
  },
  nats: async (socket) => {
    await once(socket, 'data');
  },
  valkey: async () => undefined,
  'restate-proxy': async () => undefined,
};

async function servedCertificate(engine: string, port: number): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  await prefaces[engine]?.(socket);
  const encrypted = connectTls({ socket, rejectUnauthorized: false });
  // The proxy of Restate closes it, because there is no client certificate.
  encrypted.on('error', () => undefined);
  await once(encrypted, 'secureConnect');
  const { fingerprint256 } = encrypted.getPeerCertificate();
  encrypted.destroy();
  return fingerprint256;
}

test('replaceCertificate makes running engines serve another certificate to new connections', async () => {
  const place = await createPrivateSite();
  const { postgresUrl, natsUrls, valkeyUrl, secure } = await ensureUp(
    ['postgres', 'nats', 'valkey', 'restate'],
    {
      ...place,
      secure: true,
    },
  );
  const urls = {
    postgres: postgresUrl,
    nats: natsUrls[0] ?? '',
    valkey: valkeyUrl,
    'restate-proxy': secure?.restate.ingressUrl ?? '',
  };
  for (const [engine, url] of Object.entries(urls)) {
    const port = Number(new URL(url).port);
    const before = await servedCertificate(engine, port);
    expect(await servedCertificate(engine, port)).toBe(before);
    await replaceCertificate(engine, place);
    await expect.poll(() => servedCertificate(engine, port), { timeout: 60_000 }).not.toBe(before);
  }
});

test('replaceCertificate refuses engines without TLS', async () => {
  const place = await createPrivateSite();
  await ensureUp(['valkey'], place);
  await expect(replaceCertificate('valkey', place)).rejects.toThrow(/serves no certificate/u);
});
