import { readFileSync } from 'node:fs';
import { connect } from 'node:tls';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { startSupplierHosts } from './supplier-hosts.ts';

test(
  'hosts of suppliers are apart from each other, reachable, and trust nobody',
  { timeout: 120_000 },
  async () => {
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
      let answer = '';
      for await (const chunk of socket) answer += String(chunk);
      expect(answer).toContain('"auth":"untrusted"');
    }
  },
);
