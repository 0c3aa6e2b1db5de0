import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { makeCertificate, type TestCertificate } from '@millrace/testing';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../clock/index.ts';
import { createLogger } from '../log/index.ts';
import { watchTlsFiles } from './tls-files.ts';

async function shownFingerprint(port: number): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256.replaceAll(':', '').toLowerCase();
}

const shown = ({ fingerprint }: TestCertificate): string => fingerprint.replaceAll(':', '').toLowerCase();

test('watchTlsFiles uses a new certificate once its key fits, and keeps the old one until then', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tls-files-'));
  const [certFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  const [first, second] = [await makeCertificate('first'), await makeCertificate('second')];
  await writeFile(certFile, first.certificate);
  await writeFile(keyFile, first.key);
  const loaded = { cert: first.certificate, key: first.key };
  const server = createServer(loaded);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  let logged = '';
  const destination = { write: (line: string) => void (logged += line) };
  const log = createLogger({ name: 'test', level: 'info', destination });
  const watch = () =>
    watchTlsFiles({ server, certFile, keyFile, loaded, clock: systemClock, log, everyMs: 20 });
  onTestFinished(async () => {
    server.close();
    await rm(folder, { recursive: true });
  });

  // A program that does not rename its files leaves empty ones for a moment, and a full disk for longer.
  for (const [cert, key] of [
    [second.certificate, first.key],
    [second.certificate, ''],
    ['', ''],
  ] as const) {
    await writeFile(certFile, cert);
    await writeFile(keyFile, key);
    logged = '';
    const watching = watch();
    await expect.poll(() => logged, { timeout: 60_000 }).toContain('loop step failed');
    expect(await shownFingerprint(port)).toBe(shown(first));
    await watching.stop();
  }
  const watching = watch();
  await writeFile(certFile, second.certificate);
  await writeFile(keyFile, second.key);
  await expect.poll(() => shownFingerprint(port), { timeout: 60_000 }).toBe(shown(second));
  await watching.stop();
  expect(logged).not.toContain('PRIVATE KEY');
});
