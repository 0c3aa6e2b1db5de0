import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeAuthority } from '@millrace/testing';
import { afterAll, expect, test } from 'vitest';
import { readInstallation } from '../doctor/installation.ts';
import { systemEffects } from '../doctor/system-effects.ts';
import { upstreamName } from '../init/layout.ts';
import { readGateways } from './gateways.ts';

const folder = mkdtempSync(join(tmpdir(), 'gateways-'));
const token = 'the-token-of-health-0123';

// A double of the gateway of another machine: the same TLS, token and report.
const authority = await makeAuthority();
const { certificate: cert, key } = await authority.issue({ name: 'gateway', dnsNames: [upstreamName] });
const report = { ready: true, version: '0.2.0', commit: '307b392829191234567890' };
const server = createServer({ cert, key }, (request, response) => {
  const isTrusted = request.headers.authorization === `Bearer ${token}`;
  response.end(JSON.stringify(isTrusted ? report : { ready: true }));
}).listen(0, '127.0.0.1');
await once(server, 'listening');
afterAll(() => {
  rmSync(folder, { recursive: true });
  server.close();
});

const path = (name: string): string => join(folder, name);
for (const [name, text] of Object.entries({
  'ca.pem': authority.certificate,
  'cert.pem': cert,
  'key.pem': key,
}))
  writeFileSync(path(name), text);
const settings = {
  ...{ MILLRACE_ENGINE_CA_FILE: path('ca.pem'), MILLRACE_HEALTH_TOKEN: token },
  ...{ MILLRACE_HTTP_HOST: '10.0.0.11', MILLRACE_HTTP_PORT: (server.address() as AddressInfo).port },
  ...{ MILLRACE_HTTP_TLS_CERT_FILE: path('cert.pem'), MILLRACE_HTTP_TLS_KEY_FILE: path('key.pem') },
  // Nothing listens there: this machine has no gateway.
  ...{ MILLRACE_HEALTH_HOST: '127.0.0.9', MILLRACE_POSTGRES_URL: 'postgres://nobody@127.0.0.1/none' },
};
const text = Object.entries(settings).map(([name, value]) => `${name}='${value}'\n`);
for (const name of ['millrace', 'admin', 'gateway'])
  writeFileSync(path(`${name}.env`), name === 'millrace' ? text.join('') : '');

test('readGateways asks gateways of other machines through TLS, and names those that do not answer', async () => {
  const installation = readInstallation(folder);
  const machines = ['127.0.0.1', '127.0.0.8'];
  expect(await readGateways({ installation, effects: systemEffects, machines })).toEqual([
    { address: '127.0.0.1', release: '0.2.0-307b39282919' },
    { address: '127.0.0.8', release: null },
  ]);
});
