import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';

import { connect, credsAuthenticator } from '@nats-io/transport-node';
import { expect, test } from 'vitest';

import { ensureUp, issueNatsCredentials, natsPermissionsFor } from '../index.ts';
import { createPrivateSite } from '../private-site.ts';

test('a secure site: NATS requires TLS and a user, the site keeps its mode, and its credentials are private', async () => {
  const place = await createPrivateSite();
  const { natsUrls, secure } = await ensureUp(['nats'], { ...place, secure: true });
  const { caFile, nats } = secure ?? expect.fail('the site is not secure');
  const [url = ''] = natsUrls;
  expect(url).toMatch(/^tls:/u);
  const own = natsPermissionsFor(nats.permissions.gateway, 'mine');
  expect(own.publish).toContain('mine.usage.1.batch');
  const credentials = issueNatsCredentials(nats.accountSeed, 'gateway', own);
  const authenticator = credsAuthenticator(new TextEncoder().encode(credentials));
  const to = { servers: url, tls: { ca: readFileSync(caFile, 'utf8') }, reconnect: false } as const;
  const localhost = { ...to, servers: url.replace('127.0.0.1', 'localhost') };
  const gateway = await connect({ ...localhost, authenticator, inboxPrefix: 'mine._INBOX.gateway' });
  await expect(gateway.request('other.usage.1.batch')).rejects.toThrow(/permissions violation/iu);
  await gateway.close();
  await expect(connect(localhost)).rejects.toThrow(/authorization violation/iu);
  await expect(connect({ ...localhost, tls: {}, authenticator })).rejects.toThrow(/certificate/u);
  // Without the option, `up` keeps what the folder recorded.
  expect((await ensureUp(['nats'], place)).secure?.caFile).toBe(caFile);
  for (const file of ['endpoints.json', 'tls/ca.key', 'secrets/nats-account']) {
    expect(statSync(path.join(place.stateDir, file)).mode & 0o077).toBe(0);
  }
});

test('up --secure refuses a folder whose engines were started without it', async () => {
  const place = await createPrivateSite();
  await ensureUp(['nats'], place);
  await expect(ensureUp(['nats'], { ...place, secure: true })).rejects.toThrow(
    /was created without --secure/u,
  );
});
