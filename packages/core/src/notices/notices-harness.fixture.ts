import { eventTypes, type EventType, type Role } from '@millrace/contract';
import type { SimulatedClock } from '@millrace/platform/clock';
import { createDb, type Db } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { createIdSource, toUuid, type OrgId, type UserId } from '@millrace/platform/ids';
import { createSmtpMailer, type Mailer } from '@millrace/platform/mail';
import {
  addMember,
  createOrganisation,
  createTestDatabase,
  createUser,
  hybridClock,
  longDbTimeouts,
  startSmtpServer,
  testClock,
  testIds,
  testLog,
  uniqueId,
  type TestSmtp,
  type TestDatabase,
} from '@millrace/testing';
import { assignDueRecipients, sendDueEmails, type SendEmailsResult } from './notices.service.ts';

/** Test harness with a real database, a real SMTP server, and a clock that the test advances. */
export interface NoticesHarness {
  readonly db: Db;
  readonly database: TestDatabase;
  readonly clock: SimulatedClock;
  readonly smtp: TestSmtp;
  readonly mailer: Mailer;
  organisation(...roles: readonly Role[]): Promise<Tenant>;
  /** Stores events as the relay does: numbered, in one statement. */
  events(orgId: OrgId, events: readonly TestEvent[]): Promise<void>;
  /** Addresses and sends until no email is due. */
  deliver(options?: { readonly mailer?: Mailer; readonly leaseMs?: number }): Promise<SendEmailsResult>;
  mails(orgId: OrgId): Promise<readonly MailRow[]>;
  rows<Row>(text: string): Promise<Row[]>;
  close(): Promise<void>;
}

export interface Tenant {
  readonly orgId: OrgId;
  readonly people: readonly { readonly userId: UserId; readonly email: string }[];
}

interface TestEvent {
  readonly type: EventType;
  readonly data: object;
  readonly mode?: Mode;
}

export interface MailRow {
  readonly user_id: string;
  readonly state: string;
  readonly attempts: number;
  readonly last_error: string | null;
}

const from = { name: 'Example Cloud', address: 'notices@example.com' };

export async function openNoticesHarness(): Promise<NoticesHarness> {
  const database = await createTestDatabase();
  const client = await database.connect();
  const smtp = await startSmtpServer();
  const clock = testClock();
  const ids = createIdSource({ clock, cell: 1 });
  const db = createDb({
    ...longDbTimeouts,
    ...{ url: database.url, poolSize: 8, clock: hybridClock(clock), ids, log: testLog('notices') },
  });
  const mailer = createSmtpMailer({ url: smtp.url, from, timeoutMs: 20_000 });
  const rows: NoticesHarness['rows'] = async <Row>(text: string) => (await client.query(text)).rows as Row[];
  const seqs = new Map<OrgId, number>();
  return {
    db,
    database,
    clock,
    smtp,
    mailer,
    rows,
    organisation: async (...roles) => {
      const orgId = await createOrganisation(db, { name: 'Acme' });
      const people = await Promise.all(
        roles.map(async (role) => {
          const email = `${role}-${uniqueId()}@example.com`;
          const userId = await createUser(db, { name: 'Ada', email });
          await addMember(db, orgId, userId, role);
          return { userId, email };
        }),
      );
      return { orgId, people };
    },
    events: async (orgId, events) => {
      const first = seqs.get(orgId) ?? 1;
      seqs.set(orgId, first + events.length);
      const values = events.map(({ type, data, mode = 'live' }, index) => ({
        org_id: toUuid(orgId),
        seq: BigInt(first + index),
        id: toUuid(testIds.next('evt')),
        type,
        resource_kind: eventTypes[type].resource,
        resource_id: 'some',
        mode,
        cell: 1,
        shard: 1,
        actor: JSON.stringify({ kind: 'system', id: 'test' }),
        schema_version: 1,
        api_version: '2.0.0',
        occurred_at: clock.now(),
        data: JSON.stringify(data),
      }));
      await db.kysely.insertInto('events').values(values).execute();
    },
    deliver: async ({ mailer: other = mailer, leaseMs = 60_000 } = {}) => {
      while ((await assignDueRecipients(db, { log: testLog(), limit: 7 })) > 0);
      let all: SendEmailsResult = { claimed: 0, unavailable: null };
      for (;;) {
        const sending = { db, clock, log: testLog(), mailer: other, consoleUrl: null, leaseMs, limit: 5 };
        const { claimed, unavailable } = await sendDueEmails(sending);
        all = { claimed: all.claimed + claimed, unavailable: unavailable ?? all.unavailable };
        if (claimed === 0) return all;
      }
    },
    mails: (orgId) =>
      rows<MailRow>(
        `select user_id, state, attempts, last_error from notice_mails
          where org_id = '${toUuid(orgId)}' order by created_at, state`,
      ),
    close: async () => {
      await Promise.all([client.end(), db.close(), smtp.close()]);
      await database.drop();
    },
  };
}

export const money = {
  balanceNanoUsd: '25341234567',
  availableNanoUsd: '1000000000',
  burnRateUsdPerHour: 3.98,
  runwaySeconds: 3_600,
};

export function keyCreated(createdBy: UserId): TestEvent {
  const data = {
    keyId: testIds.next('key'),
    publicId: 'ABCDEFGH2345',
    name: 'ci',
    mode: 'live',
    createdBy,
    scopes: ['events:read'],
    expiresAt: null,
    rotatedFrom: null,
  };
  return { type: 'key.created', data };
}
