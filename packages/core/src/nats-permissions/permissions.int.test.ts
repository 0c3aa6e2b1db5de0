import { PermissionViolationError, connect, type NatsConnection } from '@nats-io/transport-node';
import { epochEndSubjects, leaseSubjects } from '@millrace/credit-leases/protocol';
import { systemEnvelope } from '@millrace/platform/envelope';
import { createIdSource } from '@millrace/platform/ids';
import { systemClock } from '@millrace/platform/clock';
import {
  connectNats,
  createNatsKey,
  natsConnectionOptions,
  natsOptionsOf,
  type NatsClient,
  type NatsKey,
  type NatsRole,
} from '@millrace/platform/nats';
import { createLogger } from '@millrace/platform/log';
import { eventually, makeAuthority, startNatsServer, startTcpProxy } from '@millrace/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { eventChannels } from '../events/index.ts';
import { keyChangeSubject } from '../identity/index.ts';
import { keyFeedBucket, keyFeedKeys, usageSubjects } from '../inference/index.ts';
import { consoleSubject } from '../rentals/index.ts';
import { restoreMarkBucket } from '../restore/index.ts';
import { natsPermissions, natsRoles, renderNatsUsers, type NatsPlace } from './index.ts';
import { covers, mayUse, subjectsToTry } from './subjects.fixture.ts';

/** Users of a real nats-server with the printed configuration. */

const place: NatsPlace = { prefix: 'own', cell: 1 };
const others: readonly NatsPlace[] = [
  { prefix: 'own', cell: 2 },
  { prefix: 'other', cell: 1 },
];
const keys: Readonly<Record<NatsRole, NatsKey>> = {
  api: createNatsKey(),
  worker: createNatsKey(),
  gateway: createNatsKey(),
};
const authority = await makeAuthority();
const tls = await authority.issue({ name: 'nats' });

function usersWith(more: Partial<Record<NatsRole, readonly NatsKey[]>> = {}): string {
  return renderNatsUsers(
    natsRoles.map((role) => ({
      name: role,
      publicKeys: (more[role] ?? [keys[role]]).map(({ publicKey }) => publicKey),
      permissions: natsPermissions(role, place),
    })),
  );
}

let logged = '';
const destination = { write: (line: string) => void (logged += line) };
const log = createLogger({ name: 'test', level: 'error', destination });

const server = await startNatsServer({ tls, config: usersWith() });
afterAll(() => server[Symbol.asyncDispose]());

function optionsOf(role: NatsRole, key: NatsKey = keys[role]) {
  const settings = { urls: [`tls://${server.host}`], credentials: key.seed, ca: authority.certificate };
  return { ...natsOptionsOf({ ...settings, prefix: place.prefix }, role), log };
}

async function clientOf(role: NatsRole, key?: NatsKey): Promise<NatsClient> {
  const client = await connectNats(optionsOf(role, key));
  onTestFinished(() => client.close());
  return client;
}

/** A connection of the client library, which sends anything and collects the refusals. */
async function rawConnection(role: NatsRole): Promise<{ nats: NatsConnection; refused: Set<string> }> {
  const nats = await connect(natsConnectionOptions(optionsOf(role)));
  onTestFinished(() => nats.close());
  const refused = new Set<string>();
  void (async () => {
    for await (const status of nats.status()) {
      if (status.type !== 'error' || !(status.error instanceof PermissionViolationError)) continue;
      refused.add(`${status.error.operation} ${status.error.subject}`);
    }
  })();
  return { nats, refused };
}

const all = natsRoles.flatMap((role) => [place, ...others].map((each) => natsPermissions(role, each)));
const tried = subjectsToTry(all);

describe('covers', () => {
  it('follows the wildcards of NATS', () => {
    expect(covers('a.>', 'a.b.c')).toBe(true);
    expect(covers('a.>', 'a')).toBe(false);
    expect(covers('a.*', 'a.*')).toBe(true);
    expect(covers('a.*', 'a.>')).toBe(false);
    expect(covers('a.b', 'a.*')).toBe(false);
    expect(covers('a.*.c', 'a.b.c')).toBe(true);
    expect(covers('a.*', 'a.b.c')).toBe(false);
  });
});

describe.each(natsRoles)('the NATS user of role %s', (role) => {
  const own = natsPermissions(role, place);

  it('publishes to the subjects of its role and to no other subject of any role, stream or cell', async () => {
    const { nats, refused } = await rawConnection(role);
    const expected = tried.publish.filter((subject) => !mayUse(own.publish, subject));
    // Each list must contain allowed and refused subjects, so that neither is vacuous.
    expect(expected.length).toBeGreaterThan(100);
    expect(tried.publish.length - expected.length).toBeGreaterThan(5);
    for (const subject of tried.publish) nats.publish(subject);
    await waitForRefusals(nats, refused);
    expect([...refused].toSorted()).toEqual(expected.map((subject) => `publish ${subject}`).toSorted());
  });

  it('subscribes to the subjects of its role and to no other subject of any role, stream or cell', async () => {
    const { nats, refused } = await rawConnection(role);
    const expected = tried.subscribe.filter((subject) => !mayUse(own.subscribe, subject));
    expect(expected.length).toBeGreaterThan(100);
    for (const subject of tried.subscribe) nats.subscribe(subject, { callback: () => undefined });
    await waitForRefusals(nats, refused);
    expect([...refused].toSorted()).toEqual(expected.map((subject) => `subscription ${subject}`).toSorted());
  });

  it('cannot read the responses to another role', async () => {
    for (const other of natsRoles.filter((each) => each !== role)) {
      const inbox = natsPermissions(other, place).subscribe.filter((subject) => subject.includes('_INBOX'));
      expect(inbox).toHaveLength(1);
      expect(inbox.some((subject) => mayUse(own.subscribe, subject))).toBe(false);
    }
  });
});

/** The server refuses in the order of the calls, so this refusal is the last one. */
async function waitForRefusals(nats: NatsConnection, refused: Set<string>): Promise<void> {
  nats.publish('never.allowed');
  await nats.flush();
  await eventually({ what: 'the last refusal' }, () => refused.delete('publish never.allowed'));
}

const envelope = systemEnvelope(1, 'worker');
const orgId = createIdSource({ clock: systemClock, cell: 1 }).next('org');

describe('each role', () => {
  beforeEach(() => {
    logged = '';
  });
  afterEach(() => expect(logged).toBe(''));

  const events = eventChannels(place.prefix);
  const usage = usageSubjects(place.prefix, place.cell);
  const leases = leaseSubjects(place.prefix, place.cell);
  const [keyFeed, restoreMark] = [keyFeedBucket(place.prefix), restoreMarkBucket(place.prefix)];
  const stream = { replicas: 1, maxAgeMs: 0, maxBytes: 8_388_608, duplicateWindowMs: 60_000 };
  let worker: NatsClient;

  beforeAll(async () => {
    worker = await connectNats(optionsOf('worker'));
    // The second call updates what the first one created.
    for (let time = 1; time <= 2; time += 1) {
      const [whenFull, subjects] = ['drop oldest', [events.streamSubject]] as const;
      await worker.ensureStream({ ...stream, name: events.stream, subjects, whenFull });
      await worker.ensureStream({
        ...stream,
        name: usage.stream,
        subjects: [usage.all],
        whenFull: 'refuse new',
      });
      await worker.ensureBucket({ name: keyFeed, replicas: 1, maxBytes: 8_388_608 });
      await worker.ensureBucket({ name: restoreMark, replicas: 1, maxBytes: 1_048_576 });
    }
  });
  afterAll(() => worker.close());

  it('publishes, follows and purges its streams: events of workers, usage of gateways', async () => {
    const gateway = await clientOf('gateway');
    const event = events.subjectOf({ cell: 1, orgId, type: 'rental.created' });
    expect((await worker.publish(event, {}, { messageId: 'event', envelope })).sequence).toBe(1);
    await gateway.publish(usage.batch, { n: 1 }, { messageId: 'usage', envelope });
    const end = epochEndSubjects(place.prefix, place.cell).replace('*', orgId);
    await gateway.publish(end, {}, { messageId: 'end', envelope });
    await worker.publish(end, {}, { messageId: 'end of a dead gateway', envelope });
    for (const [name, count] of [
      [events.stream, 1],
      [usage.stream, 3],
    ] as const) {
      expect(await worker.streamState(name)).toMatchObject({ lastSequence: count });
      const follower = await worker.follow({ stream: name, fromSequence: 1, maxBuffered: 10 });
      const taken: string[] = [];
      while (taken.length < count) {
        taken.push(...(await follower.take(10, 60_000)).map(({ subject }) => subject));
      }
      await follower.close();
      expect(taken).toHaveLength(count);
    }
    await worker.purgeMessages(usage.stream, 3);
    expect(await worker.streamState(usage.stream)).toMatchObject({ firstSequence: 4 });
  });

  it('requests and answers: leases, recalls and consoles', async () => {
    const reply = async () => ({ fine: true });
    const subjects = [leases.lease, leases.recall, consoleSubject(place.prefix, place.cell)];
    for (const subject of subjects) {
      const served = worker.subscribe(subject, { queue: 'workers' }, reply);
      onTestFinished(() => served.close());
    }
    await worker.ping();
    const [api, gateway] = [await clientOf('api'), await clientOf('gateway')];
    const requests = [
      ...[gateway.request(leases.lease, {}, { envelope, timeoutMs: 60_000 })],
      ...[api, worker].map((from) => from.request(leases.recall, {}, { envelope, timeoutMs: 60_000 })),
      api.request(consoleSubject(place.prefix, place.cell), {}, { envelope, timeoutMs: 60_000 }),
    ];
    for (const response of await Promise.all(requests)) expect(response.json()).toEqual({ fine: true });
  });

  it('notifies and listens: key changes and events', async () => {
    const api = await clientOf('api');
    const received: string[] = [];
    const listen = async ({ subject }: { readonly subject: string }): Promise<void> =>
      void received.push(subject);
    const subjects = [
      keyChangeSubject(place.prefix),
      events.subjectOfType('key.revoked'),
      events.subjectOfOrganisation(orgId),
    ];
    for (const subject of subjects) api.subscribe(subject, {}, listen);
    await api.ping();
    api.notify(keyChangeSubject(place.prefix), {}, envelope);
    worker.notify(keyChangeSubject(place.prefix), {}, envelope);
    const revoked = events.subjectOf({ cell: 1, orgId, type: 'key.revoked' });
    await worker.publish(revoked, {}, { messageId: 'revoked', envelope });
    await eventually({ what: 'the messages' }, () => received.length === 4);
  });

  it('reads and writes the buckets: the key feed of gateways and the restore mark', async () => {
    const api = await clientOf('api');
    const gateway = await clientOf('gateway');
    const changed: string[] = [];
    const follower = gateway.bucket(keyFeed).follow({
      present: [keyFeedKeys.allModels],
      onBegin: () => undefined,
      onChange: ({ key }) => void changed.push(key),
    });
    onTestFinished(() => follower.close());
    await follower.ready();
    const written = [
      keyFeedKeys.key('abc'),
      keyFeedKeys.organisation(orgId),
      keyFeedKeys.model('maker/chat'),
      keyFeedKeys.contractPart('maker/chat', 2, 0),
    ];
    for (const key of written) expect(await api.bucket(keyFeed).write(key, '{}', 0)).not.toBeNull();
    expect(await worker.bucket(keyFeed).write('book.filled', '{}', 0)).not.toBeNull();
    await eventually({ what: 'the changes' }, () => changed.length === 5);
    for (const client of [api, worker, gateway]) {
      expect((await client.bucket(keyFeed).read(keyFeedKeys.key('abc')))?.value).toBe('{}');
      const listed: string[] = [];
      for await (const { key } of client.bucket(keyFeed).list(keyFeedKeys.allModels)) listed.push(key);
      expect(listed).toEqual([keyFeedKeys.model('maker/chat')]);
    }
    expect((await worker.bucket(keyFeed).readFromAnyReplica(written)).size).toBe(4);
    expect(await worker.bucket(restoreMark).write('installation', '{}', 0)).not.toBeNull();
    expect((await worker.bucket(restoreMark).read('installation'))?.value).toBe('{}');
  });

  it('continues to follow streams and buckets when its connection was lost', async () => {
    const proxy = await startTcpProxy(`tls://${server.host}`);
    // Runs after the clients are closed, because these hooks run in reverse order.
    onTestFinished(() => proxy.close());
    const throughProxy = async (role: NatsRole): Promise<NatsClient> => {
      const client = await connectNats({ ...optionsOf(role), servers: [`tls://127.0.0.1:${proxy.port}`] });
      onTestFinished(() => client.close());
      return client;
    };
    const [following, gateway] = [await throughProxy('worker'), await throughProxy('gateway')];
    const publisher = await clientOf('gateway');
    const from = ((await worker.streamState(usage.stream))?.lastSequence ?? 0) + 1;
    const follower = await following.follow({ stream: usage.stream, fromSequence: from, maxBuffered: 10 });
    onTestFinished(() => follower.close());
    const changed: string[] = [];
    const keys = gateway.bucket(keyFeed).follow({
      present: [keyFeedKeys.allModels],
      onBegin: () => undefined,
      onChange: ({ key }) => void changed.push(key),
    });
    onTestFinished(() => keys.close());
    await keys.ready();
    for (let time = 1; time <= 2; time += 1) {
      proxy.dropConnections();
      const messageId = `after a loss ${time}`;
      const stored = await publisher.publish(usage.batch, {}, { messageId, envelope, timeoutMs: 60_000 });
      await eventually({ what: 'the usage', timeoutMs: 120_000 }, async () => {
        return (await follower.take(10, 1_000)).some(({ sequence }) => sequence === stored.sequence);
      });
      const key = keyFeedKeys.key(`loss${time}`);
      await worker.bucket(keyFeed).write(key, '{}', 0);
      await eventually({ what: 'the change', timeoutMs: 120_000 }, () => changed.includes(key));
    }
    expect(logged).not.toContain('does not allow');
    logged = '';
  });

  it('gets an error at once, and logs the subject, if it uses an operation of another role', async () => {
    const gateway = await clientOf('gateway');
    await expect(gateway.bucket(keyFeed).write('key.abc', '{}', 0)).rejects.toThrow(/Permissions Violation/i);
    expect(logged).toContain(`NATS does not allow this process to publish to $KV.${keyFeed}.key.abc.`);
    await expect(gateway.streamState(events.stream)).rejects.toThrow(/Permissions Violation/i);
    logged = '';
  });
});

it('keys of gateways and workers are replaced while messages flow, and none is lost', async () => {
  const next = { gateway: createNatsKey(), worker: createNatsKey() };
  const usage = usageSubjects(place.prefix, place.cell);
  const worker = await clientOf('worker');
  const before = (await worker.streamState(usage.stream))?.lastSequence ?? 0;
  let [stored, isDone] = [0, false];
  async function publishUntilDone(gateway: NatsClient, name: string, isLast: () => boolean): Promise<void> {
    for (let n = 1; !isLast(); n += 1) {
      await gateway.publish(usage.batch, { n }, { messageId: `${name} ${n}`, envelope, timeoutMs: 60_000 });
      stored += 1;
    }
  }
  const [old, renewed] = [await connectNats(optionsOf('gateway')), { isStarted: false }];
  const oldLoad = publishUntilDone(old, 'old', () => renewed.isStarted);
  const bothKeys = {
    gateway: [keys.gateway, next.gateway],
    worker: [keys.worker, next.worker],
  };
  await server.reload({ tls, config: usersWith(bothKeys) });
  const fresh = await clientOf('gateway', next.gateway);
  const newLoad = publishUntilDone(fresh, 'new', () => isDone);
  renewed.isStarted = true;
  await oldLoad;
  await old.close();
  const nextWorker = await clientOf('worker', next.worker);
  await server.reload({ tls, config: usersWith({ gateway: [next.gateway], worker: [next.worker] }) });
  const seen = stored;
  await eventually({ what: 'usage after the rotation' }, () => stored > seen + 10);
  isDone = true;
  await newLoad;
  expect((await nextWorker.streamState(usage.stream))?.lastSequence).toBe(before + stored);
  await expect(worker.ping()).rejects.toThrow();
});
