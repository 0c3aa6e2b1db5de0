import { appendOutbox } from '@millrace/platform/outbox';
import { eventually, openSse, type ReceivedEvent } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { emitRentalEvent } from '../model/rental-transitions.ts';
import { startRentalQueryApi } from './rental-queries.fixture.ts';
import type { Tenant } from '../model/rental.fixture.ts';
import { findRentalByWireId } from '../model/rentals.store.ts';

const api = await startRentalQueryApi({ relay: true });
const { harness } = api;
afterAll(() => api.close());

const pathOf = (wireId: number, query = '') => `/v2/alpha/on-demand/rentals/${wireId}/events${query}`;

async function insertRental(tenant: Tenant, mode: 'live' | 'test' = 'live'): Promise<number> {
  const [inserted] = await api.insertRentals(tenant, { live: 1, mode });
  if (inserted === undefined) throw new Error('No rentals were inserted.');
  return inserted.wireId;
}

/** Emits an event of the rental. */
async function happen(tenant: Tenant, wireId: number, expiresAt: string): Promise<void> {
  const rental = await findRentalByWireId(harness.db, tenant.orgId, 'live', wireId);
  if (rental === null) throw new Error(`Rental ${wireId} does not exist.`);
  const data = { expiresAt, cause: 'ttl' };
  await harness.run((tx) =>
    emitRentalEvent(tx, rental, { type: 'rental.expiring', actor: { kind: 'system', id: 'rentals' }, data }),
  );
}

const day = (nth: number): string => `2026-02-0${nth}T00:00:00.000Z`;

async function take(events: AsyncGenerator<ReceivedEvent>, count: number): Promise<ReceivedEvent[]> {
  const taken: ReceivedEvent[] = [];
  while (taken.length < count) {
    const next = await events.next();
    if (next.done) break;
    taken.push(next.value);
  }
  return taken;
}

const typesOf = (events: readonly ReceivedEvent[]) => events.map(({ event }) => event);

describe('GET rentals/{id}/events', () => {
  it('lists only events of the rental, oldest first, in pages', async () => {
    const tenant = await harness.tenant();
    const wireId = await insertRental(tenant);
    const other = await insertRental(tenant);
    for (const nth of [1, 2, 3]) {
      await happen(tenant, wireId, day(nth));
      await happen(tenant, other, day(nth));
    }
    await eventually({ what: 'five events' }, async () => {
      const { json } = await api.send(tenant, 'live', { path: pathOf(wireId) });
      return json.items.length === 5;
    });
    const seen: unknown[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const query: string = cursor === '' ? '?limit=2' : `?limit=2&cursor=${cursor}`;
      const { status, json } = await api.send(tenant, 'live', { path: pathOf(wireId, query) });
      expect(status).toBe(200);
      seen.push(...json.items);
      cursor = json.nextCursor;
    }
    expect(seen).toMatchObject([
      { type: 'rental.pending' },
      { type: 'rental.running' },
      { type: 'rental.expiring', data: { rentalId: wireId, expiresAt: day(1) } },
      { type: 'rental.expiring', data: { expiresAt: day(2) } },
      { type: 'rental.expiring', data: { expiresAt: day(3) } },
    ]);
  });

  it('as a stream catches up, omits other rentals, follows, and continues after Last-Event-ID', async () => {
    const tenant = await harness.tenant();
    const wireId = await insertRental(tenant);
    const other = await insertRental(tenant);
    const headers = api.credentials(tenant, 'live');
    const stream = await openSse(`${api.url}${pathOf(wireId)}`, headers);
    expect(stream.status).toBe(200);
    const events = stream.events();
    const first = await take(events, 2);
    expect(typesOf(first)).toEqual(['rental.pending', 'rental.running']);
    await happen(tenant, other, day(1));
    await happen(tenant, wireId, day(2));
    const next = await take(events, 1);
    expect(next).toMatchObject([
      { event: 'rental.expiring', data: { data: { rentalId: wireId, expiresAt: day(2) } } },
    ]);
    stream.close();
    await happen(tenant, other, day(3));
    await happen(tenant, wireId, day(4));
    const again = await openSse(`${api.url}${pathOf(wireId)}`, {
      ...headers,
      'last-event-id': next[0]?.id ?? '',
    });
    expect(await take(again.events(), 1)).toMatchObject([
      { data: { data: { rentalId: wireId, expiresAt: day(4) } } },
    ]);
    again.close();
  });

  it('as a stream ends when its key is revoked, without showing the revocation', async () => {
    const tenant = await harness.tenant();
    const wireId = await insertRental(tenant);
    const keyId = tenant.keys.live;
    const stream = await openSse(`${api.url}${pathOf(wireId)}`, api.credentials(tenant, 'live'));
    const events = stream.events();
    await take(events, 2);
    await harness.run((tx) =>
      appendOutbox(tx, {
        kind: 'event',
        orgId: tenant.orgId,
        mode: 'live',
        type: 'key.revoked',
        resource: { kind: 'api-key', id: keyId },
        data: { keyId },
        actor: { kind: 'system', id: 'test' },
        occurredAt: tx.clock.now(),
      }),
    );
    await happen(tenant, wireId, day(1));
    expect(typesOf(await take(events, 1))).toEqual([]);
  });

  it('returns the same 404 for streams of foreign and unknown rentals', async () => {
    const [tenant, other] = [await harness.tenant(), await harness.tenant()];
    const foreign = await insertRental(other);
    const testMode = await insertRental(tenant, 'test');
    for (const wireId of [foreign, testMode, 1_999_999_999]) {
      const stream = await openSse(`${api.url}${pathOf(wireId)}`, api.credentials(tenant, 'live'));
      expect(stream.status).toBe(404);
      expect(await stream.json()).toMatchObject({ reason: 'RENTAL_NOT_FOUND' });
    }
  });
});
