import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect } from 'node:tls';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { startSupplierHosts } from './supplier-hosts.ts';

test('startSupplierHosts starts separate, reachable hosts that trust no client', async () => {
  await using supplied = await startSupplierHosts(2);
  const [one, other] = supplied.hosts;
  expect(one?.address).not.toBe(other?.address);
  const certificates = supplied.hosts.map(({ serverCertificateFile }) =>
    readFileSync(serverCertificateFile, 'utf8'),
  );
  expect(new Set(certificates).size).toBe(2);
  for (const [index, host] of supplied.hosts.entries()) {
    const { hostname, port } = new URL(host.url);
    const socket = connect({
      host: hostname,
      port: Number(port),
      ca: certificates[index] ?? '',
      checkServerIdentity: () => undefined,
    });
    await once(socket, 'secureConnect');
    socket.write('GET /1.0 HTTP/1.1\r\nhost: incus\r\nconnection: close\r\n\r\n');
    let response = '';
    for await (const chunk of socket) response += String(chunk);
    expect(response).toContain('"auth":"untrusted"');
  }
});

test('join.sh refuses a host without enough user ids for containers, and prepares one without any range', async () => {
  await using supplied = await startSupplierHosts(1);
  const host = supplied.hosts[0] ?? expect.fail('There is no host.');
  const folder = mkdtempSync(path.join(tmpdir(), 'mr-ids-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const idRangesFile = path.join(folder, 'ranges');
  const join = (ranges: string): Promise<string> => {
    writeFileSync(idRangesFile, ranges);
    const token = `mrj_${'0'.repeat(64)}`;
    return host.join({ url: 'http://127.0.0.1:1', token, name: 'host', idRangesFile });
  };
  await expect(join('root:1000000:65536\n')).rejects.toThrow('Root has only 65536 ids for containers');
  await expect(join('someone:100000:65536\n')).rejects.toThrow('Restart it');
  expect(readFileSync(idRangesFile, 'utf8')).toContain('\nroot:1000000:1000000000\n');
  // The ids suffice: it fails later, when it calls a marketplace that does not exist.
  await expect(join('root:1000000:1000000000\n')).rejects.toThrow('The marketplace does not respond');
});
