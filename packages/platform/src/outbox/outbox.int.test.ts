import { context, trace, TraceFlags } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { createTestDatabase } from '@millrace/testing';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { SimulatedClock } from '../clock/index.ts';
import { createDb } from '../db/index.ts';
import { createIdSource, fromUuid, toUuid } from '../ids/index.ts';
import { createLogger } from '../log/index.ts';
import { appendOutbox, shardOf, type CommandEntry, type EventEntry, type OutboxEntry } from './index.ts';

const clock = new SimulatedClock();
const ids = createIdSource({ clock, cell: 9 });
const orgId = ids.next('org');
const actor = { kind: 'key', id: ids.next('key') } as const;
const event: EventEntry = {
  kind: 'event',
  orgId,
  mode: 'test',
  type: 'key.created',
  resource: { kind: 'api_key', id: actor.id },
  data: { name: 'ci' },
  actor,
  occurredAt: clock.now(),
};
const command: CommandEntry = {
  kind: 'command',
  orgId,
  mode: 'live',
  service: 'Rental',
  key: 'r-1',
  handler: 'provision',
  payload: [1, 2],
  actor,
  delayMs: 60_000,
};

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
const database = await createTestDatabase();
const db = createDb({
  url: database.url,
  poolSize: 2,
  clock,
  ids,
  log: createLogger({ name: 'test', level: 'silent' }),
});
afterAll(async () => {
  await db.close();
  await database.drop();
  context.disable();
});

const append = (entry: OutboxEntry) =>
  db.transaction({ name: 'append', isolation: 'read committed' }, (tx) => appendOutbox(tx, entry));
const row = (id: Parameters<typeof toUuid>[0]) =>
  db.kysely.selectFrom('outbox').selectAll().where('id', '=', toUuid(id)).executeTakeFirstOrThrow();

describe('appendOutbox', () => {
  it('stores an event with its cell, shard, mode, actor and version', async () => {
    const id = await append(event);
    expect(await row(id)).toMatchObject({
      kind: 'event',
      cell: 9,
      shard: shardOf(orgId),
      org_id: toUuid(orgId),
      mode: 'test',
      type: 'key.created',
      resource_kind: 'api_key',
      resource_id: actor.id,
      payload: { name: 'ci' },
      actor,
      traceparent: null,
      schema_version: 1,
      occurred_at: clock.now(),
      service: null,
    });
  });

  it('stores a command with the earliest time of its execution', async () => {
    const id = await append(command);
    expect(await row(id)).toMatchObject({
      kind: 'command',
      service: 'Rental',
      object_key: 'r-1',
      handler: 'provision',
      payload: [1, 2],
      not_before: new Date(clock.nowMs() + 60_000),
      type: null,
    });
  });

  it('stores the trace of its cause', async () => {
    const spanContext = {
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      spanId: '00f067aa0ba902b7',
      traceFlags: TraceFlags.SAMPLED,
    };
    const id = await context.with(trace.setSpanContext(context.active(), spanContext), () => append(event));
    expect((await row(id)).traceparent).toMatch(/^00-4bf92f3577b34da6a3ce929d0e0e4736-[0-9a-f]{16}-01$/);
  });

  it('is rolled back with its transaction', async () => {
    const seen: string[] = [];
    const failing = db.transaction({ name: 'undo', isolation: 'read committed' }, async (tx) => {
      seen.push(toUuid(await appendOutbox(tx, event)));
      throw new Error('undone');
    });
    await expect(failing).rejects.toThrow('undone');
    await expect(row(fromUuid('evt', seen[0] ?? ''))).rejects.toThrow();
  });

  it('stores one row if its transaction runs several times', async () => {
    const only = ids.next('org');
    let attempts = 0;
    const appending = db.transaction({ name: 'collide', isolation: 'serializable' }, async (tx) => {
      attempts += 1;
      await appendOutbox(tx, { ...event, orgId: only });
      if (attempts === 1) {
        const conflict =
          "do $$ begin raise exception 'conflict' using errcode = 'serialization_failure'; end $$";

        await sql.raw(conflict).execute(tx.kysely);
      }
    });
    // The clock controls the wait between two attempts.
    while (attempts < 2) await clock.advance(10);
    await appending;
    const rows = await db.kysely
      .selectFrom('outbox')
      .select('id')
      .where('org_id', '=', toUuid(only))
      .execute();
    expect([attempts, rows.length]).toEqual([2, 1]);
  });

  it.each<[string, OutboxEntry]>([
    ['a type that is not noun and verb', { ...event, type: 'Key.Created' }],
    ['an empty resource', { ...event, resource: { kind: 'api_key', id: '' } }],
    ['a key that is too long', { ...command, key: 'x'.repeat(201) }],
  ])('refuses %s', async (_, entry) => {
    await expect(append(entry)).rejects.toMatchObject({ code: '23514' });
  });
});
