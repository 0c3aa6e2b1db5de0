import { jetstreamManager } from '@nats-io/jetstream';
import { readEndpoints } from '@millrace/services';
import { connectRaw, eventually, natsAccess, startTcpProxy, testNames } from '@millrace/testing';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { SimulatedClock } from '../clock/index.ts';
import { runInTransactionScope } from '../db/transaction-scope.ts';
import type { Envelope } from '../envelope/index.ts';
import { createLogger } from '../log/index.ts';
import {
  connectNats,
  connectNatsInBackground,
  type IncomingMessage,
  type NatsClient,
  type StreamSpec,
} from './index.ts';

const names = testNames();
const log = createLogger({ name: 'test', level: 'silent' });
const envelope: Envelope = {
  cell: 5,
  mode: 'test',
  actor: { kind: 'key', id: 'key_1' },
  schemaVersion: 1,
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
};
const stream: StreamSpec = {
  name: names.natsStream('EVENTS'),
  subjects: [names.natsSubject('events.>')],
  replicas: 1,
  maxAgeMs: 60_000,
  maxBytes: 1_048_576,
  whenFull: 'refuse new',
  duplicateWindowMs: 60_000,
};
const subject = names.natsSubject('events.one');

const client = await connectNats({ ...natsAccess(), servers: readEndpoints().natsUrls, name: 'test', log });
await client.ensureStream(stream);
afterAll(async () => {
  await client.close();
  const connection = await connectRaw();
  const manager = await jetstreamManager(connection);
  for await (const { config } of manager.streams.list()) {
    if (config.name.startsWith(names.natsStream(''))) await manager.streams.delete(config.name);
  }
  await connection.close();
});

/** After a response, everything sent before has arrived. A single ping may time out if the machine stalls. */
const responses = (of: Pick<NatsClient, 'ping'>): Promise<boolean> =>
  eventually({ what: 'an answer of NATS' }, () => of.ping().then(() => true));

describe('streams', () => {
  it('can be ensured by several processes at once and changed later', async () => {
    const fresh = { ...stream, name: names.natsStream('FRESH'), subjects: [names.natsSubject('fresh.>')] };
    await Promise.all(Array.from({ length: 5 }, () => client.ensureStream(fresh)));
    await client.ensureStream({ ...fresh, maxAgeMs: 120_000 });
    await client.ensureStream({ ...fresh, maxAgeMs: 120_000 });
  });

  it('store a message once, however often it is published', async () => {
    const first = await client.publish(subject, { n: 1 }, { messageId: `${names.id}-once`, envelope });
    const second = await client.publish(subject, { n: 1 }, { messageId: `${names.id}-once`, envelope });
    expect([first.duplicate, second.duplicate]).toEqual([false, true]);
    expect(second.sequence).toBe(first.sequence);
  });

  it('refuse a message to a subject without a stream', async () => {
    const clock = new SimulatedClock();
    const patient = await connectNats({
      ...natsAccess(),
      servers: readEndpoints().natsUrls,
      name: 'test',
      log,
      clock,
    });
    let failure: unknown;
    void patient
      .publish(names.natsSubject('nowhere'), {}, { messageId: 'x', envelope, timeoutMs: 600_000 })
      .catch((error: unknown) => (failure = error));
    await eventually({ what: 'the refusal', intervalMs: 5 }, async () => {
      await clock.advance(2_000);
      return failure !== undefined;
    });
    expect(failure).toMatchObject({ name: 'JetStreamNotEnabled' });
    await patient.close();
  });

  it('are consumed in order, at least once, with envelope and id, and failed messages are redelivered', async () => {
    const sent = ['a', 'b', 'c'];
    const each = names.natsSubject('events.work');
    for (const word of sent)
      await client.publish(each, { word }, { messageId: `${names.id}-${word}`, envelope });
    const handled: IncomingMessage[] = [];
    let failures = 0;
    const spec = {
      stream: stream.name,
      durable: 'worker',
      filterSubject: each,
      ackWaitMs: 60_000,
      maxInFlight: 10,
      maxDeliveries: -1,
    };
    const work = await client.consume(spec, async (message) => {
      if (failures === 0) {
        failures += 1;
        throw new Error('not this time');
      }
      handled.push(message);
    });
    await eventually({ what: 'all three messages' }, () => handled.length === 3);
    await work.close();
    expect(handled.map((message) => message.json())).toEqual([{ word: 'b' }, { word: 'c' }, { word: 'a' }]);
    expect(handled[0]).toMatchObject({ subject: each, envelope, messageId: `${names.id}-b` });

    const again: IncomingMessage[] = [];
    const resumed = await client.consume(spec, async (message) => void again.push(message));
    await client.publish(each, { word: 'd' }, { messageId: `${names.id}-d`, envelope });
    await eventually({ what: 'the new message' }, () => again.length === 1);
    await resumed.close();
    expect(again[0]?.json()).toEqual({ word: 'd' });
  });
});

describe('messages that are not stored', () => {
  it('reach every subscriber, and one of each queue', async () => {
    const received: string[] = [];
    const listen = (who: string, queue?: string) =>
      client.subscribe(names.natsSubject('wake'), queue === undefined ? {} : { queue }, async () =>
        received.push(who),
      );
    const listeners = [listen('a'), listen('b'), listen('q', 'shared'), listen('q', 'shared')];
    await responses(client);
    client.notify(names.natsSubject('wake'), {}, envelope);
    await eventually({ what: 'three listeners' }, () => received.length === 3);
    await Promise.all(listeners.map((listener) => listener.close()));
    expect(received.toSorted()).toEqual(['a', 'b', 'q']);
  });

  it('get a response, or the request fails', async () => {
    const target = names.natsSubject('ask');
    const server = client.subscribe(target, {}, async (message) => {
      const { n } = message.json() as { n: number };
      if (n < 0) throw new Error('no answer to that');
      return { double: n * 2, cell: message.envelope?.cell };
    });
    const reply = await client.request(target, { n: 21 }, { envelope, timeoutMs: 60_000 });
    expect(reply.json()).toEqual({ double: 42, cell: 5 });
    await expect(client.request(target, { n: -1 }, { envelope, timeoutMs: 100 })).rejects.toThrow();
    await server.close();
    await expect(client.request(target, { n: 1 }, { envelope, timeoutMs: 100 })).rejects.toThrow();
  });
});

describe('connectNats and connectNatsInBackground', () => {
  it('connect later if no server is available, with the subscriptions made meanwhile', async () => {
    const [server = expect.fail('no server')] = readEndpoints().natsUrls;
    const proxy = await startTcpProxy(server);
    onTestFinished(() => proxy.close());
    proxy.cut();
    const early = connectNatsInBackground({
      ...natsAccess(),
      servers: [proxy.rewrite(server)],
      name: 'test',
      log,
    });
    onTestFinished(() => early.close());
    const received: string[] = [];
    const listen = (subject: string) => early.subscribe(subject, {}, async () => received.push(subject));
    const [stays, dropped] = [names.natsSubject('early.kept'), names.natsSubject('early.dropped')];
    const listener = listen(stays);
    await listen(dropped).close();
    early.notify(stays, 'lost', envelope);
    expect(early.connected()).toBe(false);
    await expect(early.ping()).rejects.toThrow('not been reached');

    proxy.heal();
    await eventually({ what: 'the first connection' }, () => early.connected());
    await responses(early);
    client.notify(dropped, 1, envelope);
    client.notify(stays, 1, envelope);
    await eventually({ what: 'the message' }, () => received.length > 0);
    expect(received).toEqual([stays]);
    await listener.close();
  });

  it('stop connecting when closed, and report no password', async () => {
    const servers = ['nats://someone:hunter2@127.0.0.1:1'];
    const unreachable = connectNatsInBackground({ servers, name: 'test', log });
    await unreachable.close();
    await expect(unreachable.ping()).rejects.toThrow('not been reached');
    const failed = connectNats({ servers, name: 'test', log, firstConnectionMs: 0 });
    await expect(failed).rejects.toThrow(/could be reached: 127\.0\.0\.1:1\.$/);
  });

  it('restore the connection and its subscriptions after a loss', async () => {
    const [server = expect.fail('no server')] = readEndpoints().natsUrls;
    const proxy = await startTcpProxy(server);
    onTestFinished(() => proxy.close());
    const fragile = await connectNats({
      ...natsAccess(),
      servers: [proxy.rewrite(server)],
      name: 'test',
      log,
    });
    const received: unknown[] = [];
    const listener = fragile.subscribe(names.natsSubject('back'), {}, async (message) =>
      received.push(message.json()),
    );
    await responses(fragile);
    proxy.dropConnections();
    await eventually({ what: 'a message after the loss' }, async () => {
      client.notify(names.natsSubject('back'), 1, envelope);
      await responses(client);
      return received.length > 0;
    });
    const message = { messageId: `${names.id}-back`, envelope };
    expect((await fragile.publish(subject, {}, message)).duplicate).toBe(false);
    await listener.close();
    await fragile.close();
  });

  it('fail after the time for the first connection, with the names of the servers', async () => {
    const nowhere = connectNats({ servers: ['127.0.0.1:1'], name: 'test', log, firstConnectionMs: 100 });
    await expect(nowhere).rejects.toThrow('None of the NATS servers could be reached: 127.0.0.1:1');
  });

  it('throw inside a transaction', async () => {
    await expect(
      runInTransactionScope('outer', async () => client.notify(subject, {}, envelope)),
    ).rejects.toThrow('inside the transaction "outer"');
    await expect(
      runInTransactionScope('outer', () => client.publish(subject, {}, { messageId: 'never', envelope })),
    ).rejects.toThrow('NATS was used inside the transaction "outer"');
  });
});
