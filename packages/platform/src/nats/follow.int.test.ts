import { jetstreamManager } from '@nats-io/jetstream';
import { readEndpoints } from '@millrace/services';
import { connectRaw, natsAccess, startTcpProxy, testNames } from '@millrace/testing';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Envelope } from '../envelope/index.ts';
import { createLogger } from '../log/index.ts';
import { connectNats, type StreamFollower } from './index.ts';

const names = testNames();
const log = createLogger({ name: 'test', level: 'silent' });
const envelope: Envelope = {
  cell: 5,
  mode: 'live',
  actor: { kind: 'system', id: 'test' },
  schemaVersion: 1,
  traceparent: null,
};
const stream = names.natsStream('FOLLOWED');
const subject = names.natsSubject('followed.one');
const maxBytes = 20_000;

let published = 0;
const client = await connectNats({ ...natsAccess(), servers: readEndpoints().natsUrls, name: 'test', log });
afterAll(async () => {
  await client.close();
  const connection = await connectRaw();
  const manager = await jetstreamManager(connection);
  await manager.streams.delete(stream).catch(() => undefined);
  await connection.close();
});

const makeStream = () =>
  client.ensureStream({
    name: stream,
    subjects: [names.natsSubject('followed.>')],
    replicas: 1,
    maxAgeMs: 0,
    maxBytes,
    whenFull: 'refuse new',
    // Longer than the time in which an unacknowledged message is published again.
    duplicateWindowMs: 60_000,
  });

async function publish(count: number): Promise<void> {
  for (let nth = 0; nth < count; nth += 1) {
    published += 1;
    await client.publish(subject, { n: published }, { messageId: `${names.id}-${published}`, envelope });
  }
}

async function takeAll(follower: StreamFollower, count: number): Promise<number[]> {
  const sequences: number[] = [];
  while (sequences.length < count) {
    const taken = await follower.take(10, 60_000);
    if (taken.length === 0) expect.fail(`only ${sequences.length} messages came`);
    sequences.push(...taken.map(({ sequence }) => sequence));
  }
  return sequences;
}

const upTo = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, nth) => first + nth);

describe('client.follow', () => {
  it('starts at the given sequence, returns messages in order and waits for new ones', async () => {
    expect(await client.streamState(stream)).toBeNull();
    await makeStream();
    await publish(30);
    const follower = await client.follow({ stream, fromSequence: 11, maxBuffered: 4 });
    onTestFinished(() => follower.close());
    expect(await takeAll(follower, 20)).toEqual(upTo(11, 30));
    expect(await follower.take(10, 20)).toEqual([]);
    const next = follower.take(10, 60_000);
    await publish(1);
    const [message = expect.fail('no message')] = await next;
    expect([message.sequence, message.subject, message.text()]).toEqual([31, subject, '{"n":31}']);
  });

  it('continues after purged messages, and two followers read the same', async () => {
    await client.purgeMessages(stream, 25);
    expect(await client.streamState(stream)).toMatchObject({ firstSequence: 26, lastSequence: 31, maxBytes });
    const followers = await Promise.all(
      [1, 2].map(() => client.follow({ stream, fromSequence: 1, maxBuffered: 100 })),
    );
    onTestFinished(async () => void (await Promise.all(followers.map((each) => each.close()))));
    for (const follower of followers) expect(await takeAll(follower, 6)).toEqual(upTo(26, 31));
    await client.purgeMessages(stream, 31);
    await publish(2);
    for (const follower of followers) expect(await takeAll(follower, 2)).toEqual([32, 33]);
  });

  it('neither loses nor repeats messages when the connection is lost', async () => {
    const [server = expect.fail('no server')] = readEndpoints().natsUrls;
    const proxy = await startTcpProxy(server);
    onTestFinished(() => proxy.close());
    const fragile = await connectNats({
      ...natsAccess(),
      servers: [proxy.rewrite(server)],
      name: 'test',
      log,
    });
    onTestFinished(() => fragile.close());
    const follower = await fragile.follow({ stream, fromSequence: 34, maxBuffered: 10 });
    await publish(5);
    expect(await takeAll(follower, 5)).toEqual(upTo(34, 38));
    proxy.dropConnections();
    await publish(20);
    expect(await takeAll(follower, 20)).toEqual(upTo(39, 58));
    await follower.close();
  });

  it('reads a stream that refuses messages while it is full and accepts them after a purge', async () => {
    const large = { text: 'x'.repeat(3_000) };
    const attempts: unknown[] = [];
    for (let nth = 0; nth < 10; nth += 1) {
      const message = { messageId: `${names.id}-large-${nth}`, envelope };
      attempts.push(await client.publish(subject, large, message).catch((error: unknown) => error));
    }
    expect(attempts.at(-1)).toMatchObject({ message: expect.stringContaining('maximum bytes exceeded') });
    const { lastSequence = 0 } = (await client.streamState(stream)) ?? {};
    await client.purgeMessages(stream, lastSequence);
    const again = await client.publish(subject, large, { messageId: `${names.id}-again`, envelope });
    expect(again.sequence).toBe(lastSequence + 1);
  });
});
