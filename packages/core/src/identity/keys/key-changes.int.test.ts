import { systemClock } from '@millrace/platform/clock';
import type { Envelope } from '@millrace/platform/envelope';
import type { NatsClient } from '@millrace/platform/nats';
import {
  connectTestNats,
  createTenant,
  createTestDatabase,
  eventually,
  testNames,
  type TestDatabase,
} from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiKeyService, issueKey } from './api-keys.service.ts';
import { unlimitedKeyLimits } from '../model/api-keys.store.ts';
import { setOrganisationStatus } from '../organisations/admin.service.ts';
import { systemAuditContext } from '../model/identity.ts';
import { createKeyAuthenticator } from './key-authenticator.ts';
import {
  createKeyChangePublisher,
  keyChangeSubject,
  subscribeToKeyChanges,
  subscribeToRevocations,
  type PublishKeyChange,
} from './key-changes.ts';

/** Tests the notifications alone: values are cached for an hour, so only a notification can invalidate them in time. */
const hourMs = 3_600_000;
const cause = systemAuditContext('test', 'live');
const envelope: Envelope = { cell: 1, mode: 'live', actor: cause.actor, schemaVersion: 1, traceparent: null };
const prefix = testNames().natsPrefix;
const revocations = `${prefix}.revocations`;

let database: TestDatabase;
let nats: { readonly here: NatsClient; readonly there: NatsClient };
let announce: PublishKeyChange;
let authenticate: (key: string) => Promise<unknown>;

beforeAll(async () => {
  database = await createTestDatabase();
  const [here, there] = await Promise.all([connectTestNats(), connectTestNats()]);
  nats = { here, there };
  const subject = keyChangeSubject(prefix);
  announce = createKeyChangePublisher(here, { subject, envelope });
  const other = createKeyAuthenticator({
    db: database.db,
    clock: systemClock,
    organisationRpm: 60,
    maxAgeMs: hourMs,
  });
  subscribeToKeyChanges(there, subject, other.invalidate);
  subscribeToRevocations(there, revocations, other.invalidate);
  await there.ping();
  authenticate = (key) => other.authenticate({ key, clientIp: '127.0.0.1' });
});
afterAll(async () => {
  await Promise.all([nats.here.close(), nats.there.close()]);
  await database.drop();
});

async function issueAndUse() {
  const { orgId, ownerId: userId } = await createTenant(database.db);
  const scopes = ['api-keys:write' as const];
  const rights = {
    mode: 'live' as const,
    scopes,
    limits: unlimitedKeyLimits,
    allowedIps: [],
    expiresAt: null,
  };
  const issued = await inTransaction((tx) => issueKey(tx, cause, { orgId, userId, name: 'told', rights }));
  await authenticate(issued.text);
  return issued;
}

function inTransaction<T>(work: Parameters<typeof database.db.transaction<T>>[1]): Promise<T> {
  return database.db.transaction({ name: 'test', isolation: 'read committed' }, work);
}

const outcomeOf = (key: string) =>
  authenticate(key).then(
    () => 'admitted',
    (error: { reason: string }) => error.reason,
  );
const becomes = (key: string, expected: string) =>
  eventually(
    { what: `the other process responds with ${expected}` },
    async () => (await outcomeOf(key)) === expected,
  );

describe('another process', () => {
  it('is notified of a revocation right after its commit', async () => {
    const { key, text } = await issueAndUse();
    const keys = createApiKeyService({ announce });
    await inTransaction((tx) => keys.revoke(tx, { orgId: key.orgId, keyId: key.id, cause }, key.id));
    await becomes(text, 'API_KEY_REVOKED');
  });

  it('is notified of a suspension and of its end', async () => {
    const { key, text } = await issueAndUse();
    const turn = (status: 'active' | 'suspended') =>
      inTransaction((tx) =>
        setOrganisationStatus(
          tx,
          { announce, work: { end: async () => 0, callOff: async () => undefined } },
          cause,
          key.orgId,
          {
            status,
            reason: 'a test',
          },
        ),
      );
    await turn('suspended');
    await becomes(text, 'ORGANISATION_SUSPENDED');
    await turn('active');
    await becomes(text, 'admitted');
  });

  it('learns of a revocation from the event stream if the notification was lost', async () => {
    const { key, text } = await issueAndUse();
    const silent = createApiKeyService({ announce: () => undefined });
    await inTransaction((tx) => silent.revoke(tx, { orgId: key.orgId, keyId: key.id, cause }, key.id));
    expect(await outcomeOf(text)).toBe('admitted');
    nats.here.notify(revocations, { type: 'key.revoked', data: { publicId: key.publicId } }, envelope);
    await becomes(text, 'API_KEY_REVOKED');
  });

  it('ignores malformed messages', async () => {
    const { key, text } = await issueAndUse();
    for (const rubbish of [null, 7, {}, { kind: 'keys', publicIds: [null] }, { data: { publicId: 1 } }]) {
      nats.here.notify(keyChangeSubject(prefix), rubbish, envelope);
      nats.here.notify(revocations, rubbish, envelope);
    }
    await announce({ kind: 'organisation', orgId: key.orgId });
    await nats.here.ping();
    expect(await outcomeOf(text)).toBe('admitted');
  });
});
