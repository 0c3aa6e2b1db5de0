import type { Mode } from '@millrace/platform/envelope';
import { encodeCursor } from '@millrace/platform/http';
import { toUuid } from '@millrace/platform/ids';
import { createRandom, testIds, type InsertedRental } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { startRentalQueryApi } from './rental-queries.fixture.ts';
import { HOUR_MS, type Tenant } from '../model/rental.fixture.ts';

const base = '/v2/alpha/on-demand';
const list = `${base}/virtual-machine-rentals`;
const history = `${base}/rentals/history`;
const one = (id: number, part = '') => `${base}/rentals/${id}${part}`;

const api = await startRentalQueryApi();
const { harness } = api;
afterAll(() => api.close());

const get = (who: Tenant, path: string, mode: Mode = 'live') => api.send(who, mode, { path });

/** Reads all pages of a list and runs `between` after each. */
async function walk(
  who: Tenant,
  path: string,
  limit: number,
  between: () => Promise<unknown> = async () => undefined,
): Promise<readonly number[]> {
  const seen: number[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const query = new URLSearchParams({ limit: String(limit), ...(cursor === '' ? {} : { cursor }) });
    const { status, json } = await get(who, `${path}${path.includes('?') ? '&' : '?'}${query.toString()}`);
    expect(status).toBe(200);
    seen.push(...json.items.map((item: { rentalId: number }) => item.rentalId));
    cursor = json.nextCursor;
    await between();
  }
  return seen;
}

const wireIds = (rentals: readonly InsertedRental[]): readonly number[] =>
  rentals.map(({ wireId }) => wireId);

async function end(rental: InsertedRental, at: Date): Promise<void> {
  const stamp = `'${at.toISOString()}'`;
  await harness.rows(`update rentals set status = 'Terminated', task = null, task_deadline_at = null, ended_at = ${stamp},
    next_action_at = null, deadline_at = null where id = '${toUuid(rental.id)}'`);
}

describe('GET virtual-machine-rentals', () => {
  it('lists live rentals, newest first, with any page size', async () => {
    const tenant = await harness.tenant();
    const inserted = await api.insertRentals(tenant, { live: 23, ended: 4 });
    await api.insertRentals(tenant, { live: 2, kind: 'instance' });
    await api.insertRentals(tenant, { live: 2, mode: 'test' });
    const live = wireIds(inserted.slice(4)).toReversed();
    for (const limit of [1, 5, 23, 200]) expect(await walk(tenant, list, limit)).toEqual(live);
    expect(await walk(tenant, '/v2/on-demand/virtual-machine-rentals', 10)).toEqual(live);
  });

  it('returns the full record in the schema of its provider, without fields that only engines need', async () => {
    const tenant = await harness.tenant();
    const [rental] = await api.insertRentals(tenant, { live: 1 });
    await harness.rows(
      `update rentals set user_data = 'a secret of the tenant' where wire_id = ${rental?.wireId}`,
    );
    const { json, text } = await get(tenant, list);
    expect(text).not.toContain('a secret of the tenant');
    expect(text).not.toContain('ssh-ed25519');
    const { json: alone } = await get(tenant, one(rental?.wireId ?? 0));
    expect(json.items).toEqual([alone]);
    expect(alone).toMatchObject({
      id: rental?.wireId,
      rentalType: 'virtual-machine',
      createdBy: { id: tenant.userId },
      currentTerm: { termType: 'on-demand', costPerHour: 3.980000001 },
      nodes: [{ gpuCount: 1, cpuCount: 24 }],
    });
    expect(alone.steps).toHaveLength(5);
  });

  it('filters by status and never lists ended rentals', async () => {
    const tenant = await harness.tenant();
    await api.insertRentals(tenant, { live: 100, ended: 2 });
    const all = await walk(tenant, list, 50);
    const found: number[] = [];
    for (const status of ['Pending', 'Running', 'Unknown', 'Failed', 'Terminating', 'Terminated']) {
      const { json } = await get(tenant, `${list}?status=${status}&limit=200`);
      const statuses = json.items.map((item: { status: string }) => item.status);
      expect(statuses).toEqual(statuses.map(() => status));
      expect(statuses.length > 0).toBe(status !== 'Terminated');
      found.push(...(await walk(tenant, `${list}?status=${status}`, 3)));
    }
    expect(new Set(found)).toEqual(new Set(all));
    expect(found).toHaveLength(all.length);
  });

  it('lists each rental that stays live once and in order while others start and end', async () => {
    const random = createRandom(5);
    const tenant = await harness.tenant();
    const stay = new Set<number>();
    const leave: InsertedRental[] = [];
    for (const rental of await api.insertRentals(tenant, { live: 60 })) {
      if (random.chance(0.6)) stay.add(rental.wireId);
      else leave.push(rental);
    }
    const seen = await walk(tenant, list, 7, async () => {
      for (const ended of leave.splice(0, 3)) await end(ended, harness.clock.now());
      await api.insertRentals(tenant, { live: 2 });
    });
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((id) => stay.has(id))).toEqual([...stay].toReversed());
  });
});

describe('GET rentals', () => {
  const both = `${base}/rentals`;

  it('lists both types, newest first, with any page size, and no instances', async () => {
    const tenant = await harness.tenant();
    const kinds = ['virtual-machine', 'bare-metal', 'instance', 'virtual-machine', 'bare-metal'] as const;
    const inserted: InsertedRental[] = [];
    for (const kind of kinds) {
      const made = await api.insertRentals(tenant, { live: 4, ended: 1, kind });
      if (kind !== 'instance') inserted.push(...made.slice(1));
    }
    await api.insertRentals(tenant, { live: 2, mode: 'test' });
    const newestFirst = wireIds(
      inserted.toSorted((one_, other) => (toUuid(one_.id) < toUuid(other.id) ? 1 : -1)),
    );
    for (const limit of [1, 3, 200]) expect(await walk(tenant, both, limit)).toEqual(newestFirst);
    const { json } = await get(tenant, `${both}?limit=200`);
    expect(new Set(json.items.map((item: { rentalType: string }) => item.rentalType))).toEqual(
      new Set(['virtual-machine', 'bare-metal']),
    );
    const [first] = json.items;
    expect((await get(tenant, one(first.id))).json).toEqual(first);
  });

  it('filters by type and by status', async () => {
    const tenant = await harness.tenant();
    const metal = (await api.insertRentals(tenant, { live: 3, kind: 'bare-metal' })).map(
      ({ wireId }) => wireId,
    );
    const machines = (await api.insertRentals(tenant, { live: 3 })).map(({ wireId }) => wireId);
    expect(new Set(await walk(tenant, `${both}?rentalType=bare-metal`, 2))).toEqual(new Set(metal));
    expect(new Set(await walk(tenant, `${both}?rentalType=virtual-machine`, 2))).toEqual(new Set(machines));
    const running = await get(tenant, `${both}?status=Running&limit=200`);
    const all = await get(tenant, `${both}?limit=200`);
    expect(running.json.items).toEqual(
      all.json.items.filter((item: { status: string }) => item.status === 'Running'),
    );
    expect((await get(tenant, `${both}?status=Terminated`)).json.items).toEqual([]);
  });
});

describe('GET rentals/history', () => {
  it('lists ended rentals in the requested period, latest end first', async () => {
    const tenant = await harness.tenant();
    const inserted = await api.insertRentals(tenant, { live: 3, ended: 9 });
    const ended = inserted.slice(0, 9);
    const at = (nth: number) => new Date(harness.clock.nowMs() - nth * HOUR_MS);
    // Two rentals end at the same instant, so their ids decide the order.
    for (const [nth, rental] of ended.entries()) await end(rental, at(nth === 4 ? 5 : nth));
    const order = [0, 1, 2, 3, 5, 4, 6, 7, 8].map((nth) => ended[nth]?.wireId);
    for (const limit of [1, 2, 4, 100]) expect(await walk(tenant, history, limit)).toEqual(order);
    const window = `${history}?from=${at(6).toISOString()}&until=${at(2).toISOString()}`;
    for (const limit of [1, 3, 100]) expect(await walk(tenant, window, limit)).toEqual(order.slice(3, 7));
    expect(await walk(tenant, `${history}?rentalType=bare-metal`, 10)).toEqual([]);
    expect(await walk(tenant, `${history}?rentalType=virtual-machine`, 10)).toEqual(order);
  });

  it('returns the final cost of each rental', async () => {
    const tenant = await harness.tenant();
    await api.insertRentals(tenant, { live: 0, ended: 1 });
    const { json } = await get(tenant, history);
    expect(json.items).toMatchObject([
      {
        rentalType: 'virtual-machine',
        status: 'Terminated',
        terminationReason: 'done',
        finalCost: { amountUsd: 11.940000003, nanoUsd: '11940000003' },
      },
    ]);
  });

  it('is not affected by rentals that end between pages', async () => {
    const tenant = await harness.tenant();
    const inserted = await api.insertRentals(tenant, { live: 40, ended: 20 });
    const before = wireIds(inserted.slice(0, 20)).toReversed();
    const live = [...inserted.slice(20)];
    const seen = await walk(tenant, history, 3, async () => {
      const next = live.pop();
      if (next !== undefined) await end(next, new Date(harness.clock.nowMs() + 9 * HOUR_MS));
    });
    expect(seen).toEqual(before);
  });
});

const readings = ['', '/events', '/cost'];

describe('rentals of other organisations', () => {
  it.each(readings)(
    'GET rentals/{id}%s returns the same 404 for foreign, absent, other-mode and negative ids',
    async (part) => {
      const [tenant, other] = [await harness.tenant(), await harness.tenant()];
      const [foreign] = await api.insertRentals(other, { live: 1 });
      const [testMode] = await api.insertRentals(tenant, { live: 1, mode: 'test' });
      const [instance] = await api.insertRentals(tenant, { live: 1, kind: 'instance' });
      const ids = [foreign?.wireId, testMode?.wireId, instance?.wireId, 1_999_999_999, -1, 0].map(
        (id) => id ?? 0,
      );
      const responses = new Set<string>();
      for (const id of ids) {
        const { status, text } = await get(tenant, one(id, part));
        expect(status).toBe(404);
        responses.add(text.replace(/"requestId":"[^"]+"/, '"requestId":""'));
      }
      expect([...responses]).toHaveLength(1);
      expect([...responses][0]).toContain('RENTAL_NOT_FOUND');
      const { status } = await get(tenant, one(testMode?.wireId ?? 0, part), 'test');
      expect(status).toBe(200);
    },
  );

  it('PATCH returns the same 404 and changes nothing', async () => {
    const [tenant, other] = [await harness.tenant(), await harness.tenant()];
    const [foreign] = await api.insertRentals(other, { live: 1 });
    const [testMode] = await api.insertRentals(tenant, { live: 1, mode: 'test' });
    const [instance] = await api.insertRentals(tenant, { live: 1, kind: 'instance' });
    const responses = new Set<string>();
    for (const id of [foreign?.wireId, testMode?.wireId, instance?.wireId, 1_999_999_999, -1]) {
      const { status, text } = await api.send(tenant, 'live', { path: one(id ?? 0), body: { name: 'mine' } });
      expect(status).toBe(404);
      responses.add(text.replace(/"requestId":"[^"]+"/, '"requestId":""'));
    }
    expect([...responses]).toHaveLength(1);
    expect(await harness.rows(`select 1 from rentals where name = 'mine'`)).toEqual([]);
  });

  it('are not listed', async () => {
    const [tenant, other] = [await harness.tenant(), await harness.tenant()];
    await api.insertRentals(other, { live: 5, ended: 5 });
    expect(await walk(tenant, list, 10)).toEqual([]);
    expect(await walk(tenant, history, 10)).toEqual([]);
  });
});

describe('invalid cursor', () => {
  const rental = testIds.next('rnt');
  const hostile = [
    'x',
    '../../etc/passwd',
    'AAAA',
    Buffer.from('null').toString('base64url'),
    Buffer.from('[]').toString('base64url'),
    encodeCursor({}),
    encodeCursor({ live: 'rnt_1' }),
    encodeCursor({ live: testIds.next('org') }),
    encodeCursor({ live: `${rental}'; drop table rentals; --` }),
    encodeCursor({ live: rental, extra: 1 }),
    encodeCursor({ ended: -1, id: rental }),
    encodeCursor({ ended: 8_640_000_000_000_001, id: rental }),
    encodeCursor({ ended: 1.5, id: rental }),
    encodeCursor({ ended: 1, id: '\u0000' }),
    encodeCursor({ seq: 0 }),
    encodeCursor({ seq: 2 ** 60 }),
    encodeCursor({ seq: 9_007_199_254_740_991 }),
  ];

  it.each(['list', 'history', 'events'] as const)(
    'is rejected by the %s operation with any content',
    async (which) => {
      const tenant = await harness.tenant();
      const [own] = await api.insertRentals(tenant, { live: 1, ended: 1 });
      const path = { list, history, events: one(own?.wireId ?? 0, '/events') }[which];
      for (const cursor of hostile) {
        const { status, json } = await get(tenant, `${path}?cursor=${encodeURIComponent(cursor)}`);
        expect([status, json.reason]).toEqual([400, 'INVALID_CURSOR']);
      }
    },
  );

  it('of another organisation shows nothing of that organisation', async () => {
    const [tenant, other] = [await harness.tenant(), await harness.tenant()];
    await api.insertRentals(other, { live: 3, ended: 3 });
    const own = wireIds(await api.insertRentals(tenant, { live: 2 }));
    const { json } = await get(other, `${list}?limit=1`);
    const response = await get(tenant, `${list}?cursor=${json.nextCursor}`);
    expect(response.status).toBe(200);
    for (const item of response.json.items) expect(own).toContain(item.rentalId);
  });
});
