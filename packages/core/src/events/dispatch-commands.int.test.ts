import { object, type ObjectContext } from '@restatedev/restate-sdk';
import { systemClock } from '@millrace/platform/clock';
import type { Envelope } from '@millrace/platform/envelope';
import { toUuid, type OrgId } from '@millrace/platform/ids';
import { appendOutbox } from '@millrace/platform/outbox';
import {
  createRestateEndpoint,
  createRestateIngress,
  envelopeOf,
  RestateIngressError,
  registerDeployment,
  type RestateEndpoint,
  type RestateIngress,
} from '@millrace/platform/restate';
import { runWithTraceparent, startTelemetry, type Telemetry } from '@millrace/platform/telemetry';
import {
  connectTestNats,
  createTestDatabase,
  eventually,
  unregisterDeployment,
  testEndpoints,
  testIds,
  testLog,
  testNames,
  uniqueId,
  type TestDatabase,
  appendTestEvent,
  failingLoop,
  poisonRows,
  type Poison,
} from '@millrace/testing';
import type { NatsClient } from '@millrace/platform/nats';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ensureEventStream, eventChannels, startRelay, type Relay } from './index.ts';

interface Received {
  readonly key: string;
  readonly payload: unknown;
  readonly envelope: Envelope | null;
}

const names = testNames();
const channels = eventChannels(names.natsPrefix);
const service = names.restateService('Recorder');
const received: Received[] = [];

let database: TestDatabase;
let nats: NatsClient;
let endpoint: RestateEndpoint;
let deploymentId: string;
let telemetry: Telemetry;
let ingress: RestateIngress;

const recorder = object({
  name: service,
  handlers: {
    record: async (ctx: ObjectContext, payload: unknown) => {
      received.push({ key: ctx.key, payload, envelope: envelopeOf(ctx) });
    },
  },
});

beforeAll(async () => {
  telemetry = await startTelemetry({ service: 'test', version: '0', cell: 1, prometheusPort: null });
  database = await createTestDatabase();
  nats = await connectTestNats();
  await ensureEventStream(nats, channels, { replicas: 1, maxAgeMs: 3_600_000, maxBytes: 10_000_000 });
  const { restate } = testEndpoints();
  endpoint = await createRestateEndpoint({
    services: [recorder],
    identityKeys: [restate.identityPublicKey],
    port: 0,
    log: testLog('endpoint'),
  });
  deploymentId = (await registerDeployment(restate.adminUrl, endpoint.url)).deploymentId;
  ingress = createRestateIngress({ url: restate.ingressUrl });
});

afterAll(async () => {
  await unregisterDeployment(deploymentId);
  await endpoint.close();
  await nats.close();
  await database.drop();
  await telemetry.shutdown();
});

function startTestRelay(restate: RestateIngress, maxAttempts = 4): Promise<Relay> {
  return startRelay({
    db: database.db,
    clock: systemClock,
    log: testLog('relay').child({}, { level: 'silent' }),
    holder: `relay-${uniqueId()}`,
    channels,
    nats,
    restate,
    tuning: {
      leaseTtlMs: 30_000,
      pollMs: 5,
      dispatchIdleMs: 20,
      maxAttempts,
      retryMs: { first: 10, longest: 50 },
    },
  });
}

function command(orgId: OrgId, key: string, payload: unknown, to = service): Promise<unknown> {
  return database.db.transaction({ name: 'command', isolation: 'read committed' }, (tx) =>
    appendOutbox(tx, {
      kind: 'command',
      orgId,
      mode: 'test',
      service: to,
      key,
      handler: 'record',
      payload,
      actor: { kind: 'key', id: 'key_1' },
    }),
  );
}

const payloadsOf = (key: string) => received.filter((call) => call.key === key).map((call) => call.payload);

async function waiting(orgId: OrgId): Promise<{ waiting: number; parked: number }> {
  const { rows } = await database.query(
    `select count(*) filter (where parked_at is null)::int as waiting,
            count(*) filter (where parked_at is not null)::int as parked from outbox where org_id = $1`,
    [toUuid(orgId)],
  );
  return rows[0];
}

describe('dispatchCommands', () => {
  test('calls the handler with trace, actor, mode and cell, in order for each object', async () => {
    const orgId = testIds.next('org');
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const key = uniqueId();
    for (let nth = 0; nth < 20; nth += 1)
      await runWithTraceparent(traceparent, () => command(orgId, key, nth));
    const relay = await startTestRelay(ingress);
    await eventually({ what: 'twenty calls' }, () => payloadsOf(key).length >= 20);
    await relay.stop();
    expect(payloadsOf(key)).toEqual(Array.from({ length: 20 }, (_, nth) => nth));
    const envelope = received.find((call) => call.key === key)?.envelope;
    expect(envelope).toMatchObject({
      cell: 1,
      mode: 'test',
      actor: { kind: 'key', id: 'key_1' },
      schemaVersion: 1,
    });
    expect(envelope?.traceparent).toContain('0af7651916cd43dd8448eb211c80319c');
  });

  test('runs a command once if the relay dies between acceptance by Restate and deletion of the row', async () => {
    const orgId = testIds.next('org');
    const key = uniqueId();
    let deaths = 0;
    const dyingIngress: RestateIngress = {
      send: async (call) => {
        const accepted = await ingress.send(call);
        if (deaths >= 3) return accepted;
        deaths += 1;
        throw new Error('the relay died here');
      },
    };
    for (const payload of ['a', 'b', 'c']) await command(orgId, key, payload);
    const relay = await startTestRelay(dyingIngress);
    await eventually({ what: 'an empty outbox' }, async () => (await waiting(orgId)).waiting === 0);
    await relay.stop();
    await eventually({ what: 'the last call' }, () => payloadsOf(key).includes('c'));
    expect(deaths).toBe(3);
    expect(payloadsOf(key)).toEqual(['a', 'b', 'c']);
  });

  test('waits for Restate during an outage without counting an attempt', async () => {
    const orgId = testIds.next('org');
    const key = uniqueId();
    let outage = true;
    let tried = 0;
    const down = createRestateIngress({ url: 'http://127.0.0.1:9' });
    const flakyIngress: RestateIngress = {
      send: (call) => {
        tried += 1;
        return (outage ? down : ingress).send(call);
      },
    };
    const relay = await startTestRelay(flakyIngress, 2);
    await command(orgId, key, 'patient');
    await eventually({ what: 'more attempts than a refused command gets' }, () => tried > 3);
    expect(await waiting(orgId)).toEqual({ waiting: 1, parked: 0 });
    outage = false;
    await eventually({ what: 'the call' }, () => payloadsOf(key).length === 1);
    await relay.stop();
    expect(payloadsOf(key)).toEqual(['patient']);
  });

  test('waits without counting an attempt while the proxy of Restate refuses the certificate of workers', async () => {
    const orgId = testIds.next('org');
    const key = uniqueId();
    let isRefusing = true;
    let tried = 0;
    const guarded: RestateIngress = {
      send: async (call) => {
        tried += 1;
        if (isRefusing)
          throw new RestateIngressError(call, 403, 'This client certificate cannot use Restate.');
        return ingress.send(call);
      },
    };
    const relay = await startTestRelay(guarded, 2);
    await command(orgId, key, 'patient');
    await eventually({ what: 'more attempts than a refused command gets' }, () => tried > 3);
    expect(await waiting(orgId)).toEqual({ waiting: 1, parked: 0 });
    isRefusing = false;
    await eventually({ what: 'the call' }, () => payloadsOf(key).length === 1);
    await relay.stop();
    expect(payloadsOf(key)).toEqual(['patient']);
  });

  describe(failingLoop('dispatch commands'), () => {
    test.each<Poison>(['throws', 'times out'])(
      'does not delay other commands if the write that records a refusal %s',
      async (how) => {
        const [bad, good] = [testIds.next('org'), testIds.next('org')];
        const key = uniqueId();
        const when = `new.org_id = '${toUuid(bad)}' and new.attempts > 0`;
        const removeFault = await poisonRows(database, { table: 'outbox', when, how });
        await command(bad, key, 'never', `${service}_absent`);
        for (const payload of ['one', 'two']) await command(good, key, payload);
        const relay = await startTestRelay(ingress);
        await eventually({ what: 'the healthy calls' }, () => payloadsOf(key).length === 2);
        await removeFault();
        await eventually({ what: 'the other parked' }, async () => (await waiting(bad)).parked === 1);
        await relay.stop();
        expect(payloadsOf(key)).toEqual(['one', 'two']);
      },
    );

    test('dispatches commands while events wait for a database lock', async () => {
      const [orgId, key] = [testIds.next('org'), uniqueId()];
      const locker = await database.connect();
      await locker.query('begin');
      await locker.query('lock table events in share mode');
      const relay = await startTestRelay(ingress);
      await database.db.transaction({ name: 'event', isolation: 'read committed' }, (tx) =>
        appendTestEvent(tx, orgId, { name: 'waits' }),
      );
      const waits = async (): Promise<unknown[]> => {
        const text = `select pid, waitstart::text from pg_locks where relation = 'events'::regclass and waitstart is not null`;
        return (await locker.query(text)).rows;
      };
      await eventually({ what: 'the mover to wait for the lock' }, async () => (await waits()).length > 0);
      const before = await waits();
      await command(orgId, key, 'sent');
      await eventually({ what: 'the call' }, () => payloadsOf(key).length === 1);
      expect(await waits()).toEqual(before);
      await locker.query('rollback');
      await locker.end();
      await relay.stop();
    });

    test('parks a command to an unknown service after maxAttempts, while others are delivered', async () => {
      const orgId = testIds.next('org');
      const key = uniqueId();
      await command(orgId, key, 'never', `${service}_absent`);
      await command(orgId, key, 'fine');
      const relay = await startTestRelay(ingress);
      await eventually({ what: 'the healthy call' }, () => payloadsOf(key).length === 1);
      await eventually({ what: 'the other parked' }, async () => (await waiting(orgId)).parked === 1);
      await relay.stop();
      expect(payloadsOf(key)).toEqual(['fine']);
    });
  });
});
