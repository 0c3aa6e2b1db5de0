import { contract } from '@millrace/contract';
import { createDb } from '@millrace/platform/db';
import { createIdSource, toUuid, type OrgId } from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import {
  createTenant,
  createTestDatabase,
  longDbTimeouts,
  testClock,
  testIds,
  testLog,
} from '@millrace/testing';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { systemAuditContext } from '../identity/index.ts';
import { day, eightGpus, h100 } from './prices.fixture.ts';
import { parseFrozenPrice } from './frozen-price.ts';
import { tokenCost } from './inference-price.ts';
import type { PriceSubject } from './prices.ts';
import {
  createEntitlement,
  createPrice,
  createReserveOption,
  endPrice,
  modelPriceFor,
  quoteFor,
  revokeEntitlement,
  type NewEntitlement,
  type NewPrice,
  type NewReserveOption,
} from './prices.service.ts';
import { findPrice, listEntitlements, listPrices, listReserveOptions } from './prices.store.ts';
import { toWireQuote } from './prices.wire.ts';
import type { Quote, RentalSpec } from './quote.ts';
import { resolvePrice, type PricedItem } from './resolve-price.ts';

const readCommitted = 'read committed' as const;
const cause = systemAuditContext('test', 'live');
const everything = { limit: 200, after: null };
const clock = testClock(day(0).getTime());
let acme: OrgId;
let other: OrgId;

const database = await createTestDatabase();
const ids = createIdSource({ clock, cell: 1 });
const db = createDb({ ...longDbTimeouts, url: database.url, poolSize: 10, clock, ids, log: testLog() });
afterAll(async () => {
  await db.close();
  await database.drop();
});
// Each test has its own organisations and, since the price list is append-only, its own subject names.
beforeEach(async () => {
  [acme, other] = (await Promise.all([0, 1].map(async () => (await createTenant(database.db)).orgId))) as [
    OrgId,
    OrgId,
  ];
});

let names = 0;
const newName = (): string => `thing-${++names}`;

const write = <T>(work: Parameters<typeof db.transaction<T>>[1]): Promise<T> =>
  db.transaction({ name: 'test', isolation: readCommitted }, work);

const setPrice = (subject: PriceSubject, nano: bigint, fields: Partial<NewPrice> = {}) =>
  write((tx) =>
    createPrice(tx, cause, {
      orgId: null,
      subject,
      unit: subject.kind === 'gpu' ? 'gpu_hour' : 'gb_hour',
      priceNanoUsd: String(nano),
      validFrom: day(0),
      validUntil: null,
      reason: 'test',
      ...fields,
    }),
  );

const offer = (gpuType: string, fields: Partial<NewReserveOption> = {}) =>
  write((tx) =>
    createReserveOption(tx, cause, {
      machineType: 'virtual-machine',
      gpuType,
      region: null,
      termPeriodDays: 30,
      discountPercentage: 20,
      earlyTerminationRefundPercentage: 50,
      ...fields,
    }),
  );

const entitle = (orgId: OrgId, percentage: number, fields: Partial<NewEntitlement> = {}) =>
  write((tx) =>
    createEntitlement(tx, cause, orgId, {
      maxDiscountPercentage: percentage,
      gpuType: null,
      contractReference: null,
      validFrom: null,
      validUntil: null,
      reason: 'test',
      ...fields,
    }),
  );

const quote = (
  orgId: OrgId,
  request: Partial<Omit<RentalSpec, 'gpuType'>> & { gpuType: string },
  mode: 'live' | 'test' = 'live',
): Promise<Quote> =>
  quoteFor(db, orgId, mode, {
    // Tests use unknown GPU names, so that their prices do not collide.
    spec: { ...eightGpus, ...request } as RentalSpec,
    available: nanoUsd(10n ** 15n),
    burn: { burnPerHour: nanoUsd(0n), cover: nanoUsd(0n) },
    holdWindowMs: 75 * 60_000,
    now: clock.now(),
  });

async function rows(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  return (await database.query(text, values)).rows;
}

const auditOf = (resourceId: string) =>
  rows('select action, reason, org_id from audit_log where resource_id = $1 order by id', [resourceId]);

describe('price list', () => {
  it('returns stored prices of every kind', async () => {
    const name = newName();
    const subjects: [PriceSubject, NewPrice['unit']][] = [
      [{ ...h100, gpuType: name, region: 'us-east-1', networkType: 'infiniband' }, 'gpu_hour'],
      [{ ...h100, gpuType: name, machineType: 'bare-metal' }, 'gpu_hour'],
      [{ kind: 'volume', region: name }, 'gb_hour'],
      [{ kind: 'disk', region: name }, 'gb_hour'],
      [{ kind: 'model', model: name, unit: 'cached_prompt_token' }, 'million_tokens'],
      [{ kind: 'model', model: name, unit: 'image' }, 'image'],
    ];
    for (const [subject, unit] of subjects) {
      const made = await setPrice(subject, 7n, { unit, orgId: acme, validUntil: day(99) });
      expect(made).toMatchObject({ subject, unit, price: 7n, orgId: acme, validUntil: day(99) });
      expect(await findPrice(db, made.id)).toEqual(made);
      expect(await auditOf(made.id)).toEqual([
        { action: 'price.created', reason: 'test', org_id: toUuid(acme) },
      ]);
    }
    const listed = await listPrices(db, { at: null, orgId: acme }, everything);
    expect(listed.map((price) => price.subject)).toEqual(subjects.map(([subject]) => subject).toReversed());
  });

  it('accepts one price per subject and start, also concurrently', async () => {
    const subject = { kind: 'volume', region: newName() } as const;
    const attempts = await Promise.allSettled(
      Array.from({ length: 8 }, (_, index) => setPrice(subject, BigInt(index))),
    );
    const refused = attempts.filter((attempt) => attempt.status === 'rejected');
    expect(refused.map(({ reason }) => (reason as { reason: string }).reason)).toEqual(
      Array.from({ length: 7 }, () => 'PRICE_EXISTS'),
    );
    const [price, ...more] = await rows('select id from prices where region = $1', [subject.region]);
    expect(more).toEqual([]);
    const audit = await rows(`select 1 from audit_log where after->'subject'->>'region' = $1`, [
      subject.region,
    ]);
    expect([price !== undefined, audit.length]).toEqual([true, 1]);
  });

  it('distinguishes contracts, subjects and start times', async () => {
    const gpuType = newName();
    await setPrice({ ...h100, gpuType }, 1n);
    await setPrice({ ...h100, gpuType }, 2n, { orgId: acme });
    await setPrice({ ...h100, gpuType }, 3n, { orgId: other });
    await setPrice({ ...h100, gpuType }, 4n, { validFrom: day(1) });
    await setPrice({ ...h100, gpuType, networkType: 'ethernet' }, 5n);
    await expect(setPrice({ ...h100, gpuType }, 6n, { orgId: acme })).rejects.toMatchObject({
      reason: 'PRICE_EXISTS',
    });
  });

  it('lists the same current prices as resolvePrice, over several pages', async () => {
    const gpuType = newName();
    const subjects = [null, 'us-central-1'].flatMap((region) =>
      ([null, 'ethernet'] as const).map((networkType) => ({ ...h100, gpuType, region, networkType })),
    );
    for (const [index, subject] of subjects.entries()) {
      for (const version of [0, 1, 2]) {
        const validFrom = day(index + version * 3);
        const validUntil = version === 1 ? day(index + 4) : null;
        await setPrice(subject, BigInt(version), { orgId: acme, validFrom, validUntil });
      }
    }
    const prices = await listPrices(db, { at: null, orgId: acme }, everything);
    expect(prices).toHaveLength(12);
    for (let count = 0; count < 12; count++) {
      const standing = await listPrices(db, { at: day(count), orgId: acme }, everything);
      const expected = subjects.map((subject) => {
        const versions = prices.filter((price) => JSON.stringify(price.subject) === JSON.stringify(subject));
        const item = { ...subject, region: 'us-central-1', networkType: 'ethernet' } as PricedItem;
        return resolvePrice(versions, acme, item, day(count))?.id;
      });
      expect(standing.map(({ id }) => id).toSorted()).toEqual(
        expected.filter((id) => id !== undefined).toSorted(),
      );
    }
    const paged = [];
    for (let after = null; ;) {
      const page = await listPrices(db, { at: day(20), orgId: acme }, { limit: 1, after });
      const [first, next] = page;
      if (first === undefined) break;
      paged.push(first.id);
      expect(page).toHaveLength(next === undefined ? 1 : 2);
      after = first.id;
    }
    const whole = await listPrices(db, { at: day(20), orgId: acme }, everything);
    expect(paged).toEqual(whole.map(({ id }) => id));
  });

  it.each<[string, Partial<NewPrice>]>([
    ['a unit of another subject', { unit: 'gpu_hour' }],
    ['a negative price', { priceNanoUsd: '-1' }],
    ['minus zero', { priceNanoUsd: '-0' }],
    ['more than a million dollars', { priceNanoUsd: '1000000000000001' }],
    ['an end before its start', { validUntil: new Date(day(0).getTime() - 1) }],
    ['an end at its start', { validUntil: day(0) }],
  ])('refuses %s and stores nothing', async (_, wrong) => {
    const region = newName();
    await expect(setPrice({ kind: 'volume', region }, 1n, wrong)).rejects.toMatchObject({
      reason: 'VALIDATION_FAILED',
      issues: [expect.objectContaining({ code: 'custom' })],
    });
    expect(await rows('select 1 from prices where region = $1', [region])).toEqual([]);
  });

  it('accepts the highest price, which is a dollar for a token', async () => {
    await setPrice({ kind: 'volume', region: newName() }, 10n ** 15n);
    const subject = { kind: 'model', model: newName(), unit: 'prompt_token' } as const;
    await expect(setPrice(subject, 10n ** 9n + 1n, { unit: 'token' })).rejects.toMatchObject({
      reason: 'VALIDATION_FAILED',
    });
    await setPrice(subject, 10n ** 9n, { unit: 'token' });
  });

  it('refuses a contract price for an unknown organisation', async () => {
    const orgId = testIds.next('org');
    await expect(setPrice({ kind: 'volume', region: newName() }, 1n, { orgId })).rejects.toMatchObject({
      reason: 'ORGANISATION_NOT_FOUND',
    });
  });
});

describe('endPrice', () => {
  const end = (id: Parameters<typeof endPrice>[2]) => write((tx) => endPrice(tx, cause, id, 'no more'));

  it('is idempotent, also concurrently', async () => {
    const price = await setPrice({ kind: 'volume', region: newName() }, 1n);
    const endedAt = clock.now();
    const responses = await Promise.all([end(price.id), end(price.id), end(price.id)]);
    await clock.advance(60_000);
    for (const response of [...responses, await end(price.id)]) expect(response.validUntil).toEqual(endedAt);
    expect((await auditOf(price.id)).map(({ action }) => action)).toEqual(['price.created', 'price.ended']);
  });

  it('replaces a later end and keeps an earlier one', async () => {
    const soon = await setPrice({ kind: 'volume', region: newName() }, 1n, { validUntil: day(50) });
    expect((await end(soon.id)).validUntil).toEqual(clock.now());
    const from = new Date(clock.nowMs() - 2_000);
    const past = new Date(clock.nowMs() - 1_000);
    const over = await setPrice({ kind: 'volume', region: newName() }, 1n, {
      validFrom: from,
      validUntil: past,
    });
    expect((await end(over.id)).validUntil).toEqual(past);
    expect(await auditOf(over.id)).toHaveLength(1);
  });

  it('of a price that has not started frees its start for another price', async () => {
    const subject = { kind: 'volume', region: newName() } as const;
    const wrong = await setPrice(subject, 1n, { validFrom: day(40) });
    await expect(setPrice(subject, 2n, { validFrom: day(40) })).rejects.toMatchObject({
      reason: 'PRICE_EXISTS',
    });
    expect((await end(wrong.id)).validUntil).toEqual(day(40));
    expect((await end(wrong.id)).validUntil).toEqual(day(40));
    const right = await setPrice(subject, 2n, { validFrom: day(40) });
    const standing = await listPrices(db, { at: day(41), orgId: null }, everything);
    expect(standing.filter((price) => JSON.stringify(price.subject) === JSON.stringify(subject))).toEqual([
      right,
    ]);
  });

  it('refuses an unknown price', async () => {
    await expect(end(testIds.next('prc'))).rejects.toMatchObject({ reason: 'PRICE_NOT_FOUND' });
  });

  it.each([
    'update prices set price_nano_usd = price_nano_usd + 1',
    "update prices set valid_from = valid_from - interval '1 day'",
    'update prices set valid_until = null where valid_until is not null',
    "update prices set valid_until = valid_until + interval '1 day' where valid_until is not null",
    'delete from prices',
    'truncate prices',
  ])('is the only change that a trigger allows, even to the table owner: %s', async (statement) => {
    await setPrice({ kind: 'volume', region: newName() }, 1n, { validUntil: day(50) });
    await expect(rows(statement)).rejects.toMatchObject({ code: '23001' });
  });

  it.each([
    'update prices set price_nano_usd = 0',
    'delete from prices',
    'update reserve_options set discount_ppm = 0',
    'delete from reserve_options',
    'update entitlements set max_discount_ppm = 1000000',
    'delete from entitlements',
  ])('is the only change that the app role may make: %s', async (statement) => {
    const client = await database.connect();
    try {
      await client.query('set role millrace_app');
      await expect(client.query(statement)).rejects.toMatchObject({ code: '42501' });
    } finally {
      await client.end();
    }
  });
});

describe('quoteFor', () => {
  it("uses the caller's contract and returns the shape of the API", async () => {
    const gpuType = newName();
    const region = 'us-central-1';
    const listed = await setPrice({ ...h100, gpuType }, 2_000_000_000n);
    const contractPrice = await setPrice({ ...h100, gpuType }, 1_000_000_000n, { orgId: acme });
    const storage = await setPrice({ kind: 'volume', region }, 137_000n, { orgId: acme });
    const request = { gpuType, storageSizeInGb: 256, durationSeconds: 5_400 };
    const mine = await quote(acme, request);
    expect(mine.frozen.rental.priceIds).toEqual([contractPrice.id]);
    expect(mine.frozen.volume?.priceIds).toEqual([storage.id]);
    expect(mine.total).toBe(12_000_000_000n + 52_608_000n);
    expect((await quote(other, { gpuType })).frozen.rental.priceIds).toEqual([listed.id]);
    const wire = toWireQuote(mine, { available: true, idleRules: true, disk: null });
    expect(contract.operations.quoteRental.response.schema.parse(wire)).toEqual(wire);
    expect(wire).toMatchObject({
      costPerHour: 8.035072,
      costPerHourNanoUsd: '8035072000',
      costPerSecondNanoUsd: '2231965',
      minimumBalanceNanoUsd: wire.holdNanoUsd,
      totalNanoUsd: '12052608000',
      term: null,
      available: true,
      affordable: true,
    });
  });

  it('freezes the price, so that later changes of the price list have no effect', async () => {
    const gpuType = newName();
    const price = await setPrice({ ...h100, gpuType }, 5n);
    const stored = JSON.stringify((await quote(acme, { gpuType })).frozen.rental);
    await write((tx) => endPrice(tx, cause, price.id, 'more expensive'));
    await setPrice({ ...h100, gpuType }, 9n, { validFrom: clock.now() });
    expect((await quote(acme, { gpuType })).perHour).toBe(72n);
    expect(parseFrozenPrice(JSON.parse(stored))).toMatchObject({
      rateNanoUsdPerHour: '40',
      priceIds: [price.id],
    });
  });

  it('is refused without a price, but free in test mode', async () => {
    const gpuType = newName();
    await expect(quote(acme, { gpuType })).rejects.toMatchObject({ reason: 'PRICE_NOT_AVAILABLE' });
    expect(await quote(acme, { gpuType }, 'test')).toMatchObject({ perHour: 0n, hold: 0n, live: null });
  });

  it('adds the amounts of live mode in test mode', async () => {
    const gpuType = newName();
    await setPrice({ ...h100, gpuType }, 2_000_000_000n);
    const request = { gpuType, durationSeconds: 5_400 };
    const live = await quote(acme, request);
    expect(live).not.toHaveProperty('live');
    const tested = await quote(acme, request, 'test');
    const disk = { sizeGb: 500, price: null, livePrice: live.frozen.rental };
    const wire = toWireQuote(tested, { available: true, idleRules: true, disk });
    expect(contract.operations.quoteRental.response.schema.parse(wire)).toEqual(wire);
    expect(wire).toMatchObject({
      costPerHourNanoUsd: '0',
      totalNanoUsd: '0',
      released: { diskGb: 500, costPerHourNanoUsd: '0' },
      live: {
        costPerHourNanoUsd: String(live.perHour),
        minimumBalanceNanoUsd: String(live.hold),
        totalNanoUsd: '24000000000',
        released: { diskGb: 500, costPerHourNanoUsd: String(live.perHour) },
      },
    });
    expect(tested.frozen.rental).toMatchObject({ rateNanoUsdPerHour: '0', priceIds: [] });
  });

  it('uses the newest option of a term and shows the commitment', async () => {
    const gpuType = newName();
    const reserved = { gpuType, termType: 'reserved', termPeriodDays: 30 } as const;
    await setPrice({ ...h100, gpuType }, 1_000_000_000n);
    await expect(quote(acme, reserved)).rejects.toMatchObject({ reason: 'RESERVE_OPTION_NOT_FOUND' });
    await offer(gpuType);
    await clock.advance(1_000);
    const newer = await offer(gpuType, { discountPercentage: 25 });
    const quoted = await quote(acme, reserved);
    expect(quoted).toMatchObject({ discount: 250_000, perHour: 6_000_000_000n, hold: 4_320_000_000_000n });
    expect(toWireQuote(quoted, { available: false, idleRules: true, disk: null })).toMatchObject({
      discountPercentage: 25,
      originalCostPerHour: 8,
      available: false,
      term: {
        termPeriodDays: 30,
        committedNanoUsd: '4320000000000',
        earlyTerminationRefundPercentage: 50,
        onDemandCostPerHourNanoUsd: '8000000000',
      },
    });
    const listed = await listReserveOptions(db, everything);
    expect(listed.filter((option) => option.gpuType === gpuType)).toEqual([newer]);
  });
});

describe('reserve options', () => {
  it('created concurrently for the same term leave exactly one on offer', async () => {
    const gpuType = newName();
    await Promise.all([1, 2, 3, 4].map((percentage) => offer(gpuType, { discountPercentage: percentage })));
    const listed = await listReserveOptions(db, everything);
    expect(listed.filter((option) => option.gpuType === gpuType)).toHaveLength(1);
    const [first] = await listReserveOptions(db, { limit: 1, after: null });
    const next = await listReserveOptions(db, { limit: 1, after: first?.id ?? null });
    expect(next[0]?.id).not.toBe(first?.id);
  });

  it.each([
    { discountPercentage: 12.34567 },
    { earlyTerminationRefundPercentage: Number.NaN },
    { discountPercentage: -1 },
  ])('refuse %j', async (wrong) => {
    await expect(offer(newName(), wrong)).rejects.toMatchObject({ reason: 'VALIDATION_FAILED' });
  });
});

describe('entitlements', () => {
  it('let an organisation claim a granted discount until it is revoked', async () => {
    const gpuType = newName();
    await setPrice({ ...h100, gpuType }, 100n);
    const claim = (orgId: OrgId, discountPercentage: number) => quote(orgId, { gpuType, discountPercentage });
    const refused = { reason: 'DISCOUNT_NOT_ENTITLED' };
    await expect(claim(acme, 10)).rejects.toMatchObject(refused);
    const granted = await entitle(acme, 10.5, { contractReference: 'C-7' });
    expect((await claim(acme, 10.5)).perHour).toBe(716n);
    await expect(claim(acme, 10.5001)).rejects.toMatchObject(refused);
    await expect(claim(other, 10)).rejects.toMatchObject(refused);

    const revoke = () => write((tx) => revokeEntitlement(tx, cause, acme, granted.id));
    await Promise.all([revoke(), revoke()]);
    await revoke();
    await expect(claim(acme, 10)).rejects.toMatchObject(refused);
    expect((await auditOf(granted.id)).map(({ action }) => action)).toEqual([
      'entitlement.created',
      'entitlement.revoked',
    ]);
  });

  it('are listed while current or future, newest first, for their organisation only', async () => {
    const now = clock.now();
    const ending = await entitle(acme, 1, { validUntil: new Date(now.getTime() + 1) });
    const future = await entitle(acme, 2, { validFrom: day(90), gpuType: 'h100' });
    await entitle(other, 3);
    expect(await listEntitlements(db, acme, now)).toEqual([future, ending]);
    await clock.advance(1);
    expect(await listEntitlements(db, acme, clock.now())).toEqual([future]);
    expect(await listEntitlements(db, acme, now, { limit: 1, after: null })).toHaveLength(2);
    expect(await listEntitlements(db, acme, now, { limit: 1, after: future.id })).toEqual([ending]);
  });

  it('of another organisation look like unknown ones', async () => {
    const { id } = await entitle(other, 5);
    for (const absent of [id, testIds.next('ent')]) {
      await expect(write((tx) => revokeEntitlement(tx, cause, acme, absent))).rejects.toMatchObject({
        reason: 'ENTITLEMENT_NOT_FOUND',
      });
    }
    expect(await listEntitlements(db, other, clock.now())).toHaveLength(1);
  });

  it('refuse invalid percentages, periods and organisations', async () => {
    const invalid = { reason: 'VALIDATION_FAILED' };
    await expect(entitle(acme, 0.00001)).rejects.toMatchObject(invalid);
    await expect(entitle(acme, 1, { validFrom: day(9), validUntil: day(9) })).rejects.toMatchObject(invalid);
    await expect(entitle(testIds.next('org'), 1)).rejects.toMatchObject({ reason: 'ORGANISATION_NOT_FOUND' });
    expect(await listEntitlements(db, acme, clock.now())).toEqual([]);
  });
});

describe('modelPriceFor', () => {
  it('uses the contract price, exact below a nano-USD per token', async () => {
    const model = newName();
    const per = (unit: 'prompt_token' | 'completion_token') => ({ kind: 'model', model, unit }) as const;
    await setPrice(per('prompt_token'), 40n, { unit: 'token' });
    await setPrice(per('prompt_token'), 37_500n, { unit: 'million_tokens', orgId: acme });
    await setPrice(per('completion_token'), 1n, { unit: 'token' });
    const mine = await modelPriceFor(db, acme, 'live', model, clock.now());
    expect(tokenCost(mine, { prompt: 1_000_000, cached: 0, completion: 0 })).toBe(37_500n);
    expect(tokenCost(mine, { prompt: 100, cached: 0, completion: 10 })).toBe(14n);
    const theirs = await modelPriceFor(db, other, 'live', model, clock.now());
    expect(tokenCost(theirs, { prompt: 100, cached: 0, completion: 10 })).toBe(4_010n);
    expect(
      (await modelPriceFor(db, acme, 'live', newName(), clock.now())).promptNanoUsdPerMillion,
    ).toBeNull();
  });
});
