import { jetstreamManager } from '@nats-io/jetstream';
import { readEndpoints } from '@millrace/services';
import { connectRaw, eventually, natsAccess, startTcpProxy, testNames } from '@millrace/testing';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { SimulatedClock, systemClock } from '../clock/index.ts';
import { runInTransactionScope } from '../db/transaction-scope.ts';
import { createLogger } from '../log/index.ts';
import { connectNats, type Bucket, type BucketEntry, type BucketSpec, type NatsClient } from './index.ts';

const names = testNames();
const log = createLogger({ name: 'test', level: 'silent' });
const [server = 'none'] = readEndpoints().natsUrls;
let made = 0;

const client = await connectNats({ ...natsAccess(), servers: [server], name: 'test', log });
const connection = await connectRaw();
const manager = await jetstreamManager(connection);
afterAll(async () => {
  await client.close();
  await connection.close();
});

async function newBucket(): Promise<BucketSpec> {
  made += 1;
  const spec = { name: `${names.natsStream('KV')}_${made}`, replicas: 1, maxBytes: 4_194_304 };
  await client.ensureBucket(spec);
  onTestFinished(async () => {
    await manager.streams.delete(`KV_${spec.name}`).catch(() => undefined);
  });
  return spec;
}

/** Accepts a conflict if the value is stored: the client repeats a write whose response is late. */
async function write(bucket: Bucket, key: string, value: string | null, revision: number): Promise<number> {
  const written = await bucket.write(key, value, revision);
  if (written !== null) return written;
  const found = await bucket.read(key);
  return found?.value === value ? found.revision : expect.fail(`The write of ${key} was refused.`);
}

interface Received {
  begins: (readonly BucketEntry[])[];
  changes: BucketEntry[];
}

function listen(from: NatsClient, spec: BucketSpec, present: readonly string[] = ['model.>']) {
  const received: Received = { begins: [], changes: [] };
  const follower = from.bucket(spec.name).follow({
    present,
    onBegin: (entries) => received.begins.push(entries),
    onChange: (entry) => received.changes.push(entry),
  });
  onTestFinished(() => follower.close());
  return { received: received, follower };
}

describe('Bucket', () => {
  it('can be ensured by several processes at once, and again', async () => {
    const spec = await newBucket();
    await Promise.all(Array.from({ length: 5 }, () => client.ensureBucket(spec)));
  });

  it('keeps the last value of each key and writes only at the expected revision', async () => {
    const bucket = client.bucket((await newBucket()).name);
    expect(await bucket.read('key.a')).toBeNull();
    const first = await write(bucket, 'key.a', 'one', 0);
    expect(await bucket.write('key.a', 'lost', 0)).toBeNull();
    const second = await write(bucket, 'key.a', 'two', first);
    expect(await bucket.read('key.a')).toEqual({ key: 'key.a', revision: second, value: 'two' });
    const deleted = await write(bucket, 'key.a', null, second);
    expect(await bucket.read('key.a')).toEqual({ key: 'key.a', revision: deleted, value: null });
  });

  it('reads many keys from any replica and lists keys by pattern, without missing keys', async () => {
    const bucket = client.bucket((await newBucket()).name);
    expect(await bucket.readFromAnyReplica(['key.a'])).toEqual(new Map());
    for (const key of ['key.a', 'model.b', 'key.c']) await bucket.write(key, `of ${key}`, 0);
    const found = await bucket.readFromAnyReplica(['key.a', 'key.c', 'key.none']);
    expect([...found.values()].map(({ value }) => value)).toEqual(['of key.a', 'of key.c']);
    const listed: string[] = [];
    for await (const entry of bucket.list('key.>')) listed.push(entry.key);
    expect(listed).toEqual(['key.a', 'key.c']);
  });

  it('throws inside a transaction', async () => {
    const bucket = client.bucket((await newBucket()).name);
    await expect(runInTransactionScope('outer', () => bucket.read('key.a'))).rejects.toThrow(
      'inside the transaction',
    );
    await expect(runInTransactionScope('outer', () => bucket.write('key.a', '', 0))).rejects.toThrow('NATS');
  });
});

describe('bucket.follow', () => {
  it('reports the present values of the patterns, then every change of any key in order', async () => {
    const spec = await newBucket();
    const bucket = client.bucket(spec.name);
    await bucket.write('model.a', '1', 0);
    await bucket.write('key.a', '2', 0);
    const { received, follower } = listen(client, spec);
    await follower.ready();
    expect(received.begins).toEqual([[{ key: 'model.a', revision: 1, value: '1' }]]);
    await bucket.write('key.b', '3', 0);
    await bucket.write('model.a', null, 1);
    await eventually({ what: 'two changes' }, () => received.changes.length === 2);
    expect(received.changes.map(({ key, value }) => [key, value])).toEqual([
      ['key.b', '3'],
      ['model.a', null],
    ]);
  });

  it('misses no change while disconnected, does not start again, and is not fresher than its last response', async () => {
    const spec = await newBucket();
    const proxy = await startTcpProxy(server);
    onTestFinished(() => proxy.close());
    const fragile = await connectNats({
      ...natsAccess(),
      servers: [proxy.rewrite(server)],
      name: 'test',
      log,
    });
    onTestFinished(() => fragile.close());
    const { received, follower } = listen(fragile, spec);
    await follower.ready();
    proxy.cut();
    const bucket = client.bucket(spec.name);
    let revision = 0;
    for (let n = 1; n <= 20; n += 1) revision = await write(bucket, 'key.a', `${n}`, revision);
    const cutAtMs = systemClock.monotonicMs();
    expect(follower.freshAtMs()).toBeLessThan(cutAtMs);
    expect(received.changes.filter(({ value }) => value === '20')).toEqual([]);
    proxy.heal();
    await eventually({ what: 'the last change' }, () => received.changes.at(-1)?.value === '20');
    await eventually({ what: 'freshness' }, () => (follower.freshAtMs() ?? 0) > cutAtMs);
    expect(received.begins).toHaveLength(1);
  });

  it('starts again when the bucket was recreated, although its revisions are smaller', async () => {
    const spec = await newBucket();
    const bucket = client.bucket(spec.name);
    for (let n = 0; n < 5; n += 1) await bucket.write(`model.${n}`, 'old', 0);
    const { received, follower } = listen(client, spec);
    await follower.ready();
    await manager.streams.delete(`KV_${spec.name}`);
    await client.ensureBucket(spec);
    await bucket.write('model.new', 'new', 0);
    await eventually({ what: 'the new bucket' }, () => received.begins.length === 2);
    // If the follower finds the bucket before the value is written, it receives the value as a change.
    const receivedOf = () => [...(received.begins.at(-1) ?? []), ...received.changes].map(({ key }) => key);
    await eventually({ what: 'the new value' }, () => receivedOf().length > 0);
    expect(receivedOf()).toEqual(['model.new']);
  });

  it('waits for a bucket that does not exist yet', async () => {
    made += 1;
    const spec = { name: `${names.natsStream('KV')}_${made}`, replicas: 1, maxBytes: 1_048_576 };
    const { received, follower } = listen(client, spec);
    expect(follower.freshAtMs()).toBeNull();
    await client.ensureBucket(spec);
    onTestFinished(async () => {
      await manager.streams.delete(`KV_${spec.name}`);
    });
    await follower.ready();
    expect(received.begins).toEqual([[]]);
    expect(follower.freshAtMs()).not.toBeNull();
  });

  it('creates a new consumer at once if its own was deleted', async () => {
    const spec = await newBucket();
    const { received, follower } = listen(client, spec);
    await follower.ready();
    const consumers = async () =>
      (await manager.consumers.list(`KV_${spec.name}`).next()).map(({ name }) => name);
    await eventually({ what: 'a consumer' }, async () => (await consumers()).length > 0);
    const [lost = 'none'] = await consumers();
    await manager.consumers.delete(`KV_${spec.name}`, lost);
    await client.bucket(spec.name).write('key.a', '1', 0);
    await eventually({ what: 'the change' }, () => received.changes.length === 1);
  });

  it('does not become fresher while the broker does not respond', async () => {
    const spec = await newBucket();
    const clock = new SimulatedClock();
    const proxy = await startTcpProxy(server);
    onTestFinished(() => proxy.close());
    const fragile = await connectNats({
      ...natsAccess(),
      servers: [proxy.rewrite(server)],
      name: 'test',
      log,
      clock,
    });
    onTestFinished(() => fragile.close());
    const { follower } = listen(fragile, spec);
    await follower.ready();
    await eventually({ what: 'a fresh answer' }, async () => {
      await clock.advance(1_000);
      return (follower.freshAtMs() ?? 0) > 0;
    });
    proxy.cut();
    const before = follower.freshAtMs() ?? expect.fail('never fresh');
    for (let second = 0; second < 10; second += 1) await clock.advance(1_000);
    expect((follower.freshAtMs() ?? 0) - before).toBeLessThanOrEqual(1_000);
    expect(clock.monotonicMs() - before).toBeGreaterThanOrEqual(9_000);
  });
});
