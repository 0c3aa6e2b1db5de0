import { systemClock } from '@millrace/platform/clock';
import { createDb, type Tx } from '@millrace/platform/db';
import { createIdSource, fromUuid, toUuid, type OrgId } from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import {
  createOrganisation,
  createTestDatabase,
  testLog,
  failingLoop,
  poisonRows,
  type Poison,
} from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import {
  applyLedger,
  changeBudget,
  createBudget,
  expirePromos,
  findBudget,
  findHold,
  listTransfers,
  readBalance,
  requireLedgerSuccess,
  type LedgerCommand,
  type LedgerResult,
} from './index.ts';

const database = await createTestDatabase();
const db = database.db;
afterAll(() => database.drop());

const apply = (commands: readonly LedgerCommand[]): Promise<readonly LedgerResult[]> =>
  db.transaction({ name: 'test', isolation: 'read committed' }, (tx) => applyLedger(tx, commands));

const usd = (amount: number) => nanoUsd(BigInt(amount) * 1_000_000_000n);
const revenue = (amount: ReturnType<typeof usd>) =>
  [{ account: { kind: 'revenue', product: 'rental' }, amount }] as const;

let steps = 0;
const base = (orgId: OrgId) => ({ orgId, mode: 'live', cause: { kind: 'test', id: 'one' } }) as const;
const step = (): string => String((steps += 1));
const topUp = (orgId: OrgId, amount: number): LedgerCommand => ({
  ...base(orgId),
  step: step(),
  do: 'credit',
  kind: 'top_up',
  amount: usd(amount),
  from: [{ account: { kind: 'payments_clearing' }, amount: usd(amount) }],
  description: 'Top-up',
});
const hold = (orgId: OrgId, amount: number): LedgerCommand => ({
  ...base(orgId),
  step: step(),
  do: 'hold',
  amount: usd(amount),
  demand: 'new',
});
const balanceOf = async (orgId: OrgId) => {
  const { balance, held, available } = await readBalance(db, orgId, 'live', new Date());
  return [balance, held, available].map((amount) => Number(amount / 1_000_000_000n));
};

const listExpired = async (): Promise<readonly OrgId[]> => {
  const rows = await db.kysely
    .selectFrom('ledger_accounts')
    .select('org_id')
    .where('expires_at', '<=', new Date())
    .where('balance_nano_usd', '>', 0n)
    .execute();
  return rows.map(({ org_id: id }) => fromUuid('org', id ?? ''));
};

describe('hold', () => {
  it('is checked and held in one step, posted in parts, and releases the rest', async () => {
    const orgId = await createOrganisation(db);
    requireLedgerSuccess((await apply([topUp(orgId, 10)]))[0]);
    const { holdId } = requireLedgerSuccess((await apply([hold(orgId, 6)]))[0]);
    if (holdId === null) throw new Error('no hold');
    expect(await balanceOf(orgId)).toEqual([10, 6, 4]);
    expect((await apply([hold(orgId, 5)]))[0]).toMatchObject({ ok: false, reason: 'INSUFFICIENT_BALANCE' });
    const post = {
      ...base(orgId),
      step: step(),
      do: 'post',
      holdId,
      amount: usd(2),
      to: revenue(usd(2)),
      afterwards: 'keep',
      description: 'One hour',
    } as const;
    const [first] = await apply([post]);
    const [again] = await apply([post]);
    expect(again).toEqual({ ...first, replayed: true });
    expect(await balanceOf(orgId)).toEqual([8, 4, 4]);
    await apply([{ ...base(orgId), step: step(), do: 'close', holdId }]);
    expect(await balanceOf(orgId)).toEqual([8, 0, 8]);
    expect(await findHold(db, orgId, holdId)).toMatchObject({ closed: true, posted: usd(2), held: 0n });
  });

  it('never exceeds the balance when 30 holds run concurrently', async () => {
    const orgId = await createOrganisation(db);
    await apply([topUp(orgId, 10)]);
    const results = await Promise.all(Array.from({ length: 30 }, () => apply([hold(orgId, 1)])));
    expect(results.flat().filter((result) => result.ok)).toHaveLength(10);
    expect(await balanceOf(orgId)).toEqual([10, 10, 0]);
  });
});

describe('batch', () => {
  it('returns one result per command, and a refused command does not affect the others', async () => {
    const orgId = await createOrganisation(db);
    const results = await apply([
      hold(orgId, 1),
      topUp(orgId, 3),
      hold(orgId, 2),
      hold(orgId, 2),
      hold(orgId, 1),
    ]);
    expect(results.map((result) => result.ok)).toEqual([false, true, true, false, true]);
    expect(await balanceOf(orgId)).toEqual([3, 3, 0]);
  });
});

describe('concurrent identical commands', () => {
  it('are applied once, and all callers get the first result', async () => {
    const orgId = await createOrganisation(db);
    await apply([topUp(orgId, 100)]);
    const charge: LedgerCommand = {
      ...base(orgId),
      step: step(),
      do: 'debit',
      kind: 'charge',
      amount: usd(3),
      to: revenue(usd(3)),
      whenShort: 'refuse',
      description: 'Once',
    };
    const held = hold(orgId, 5);
    const results = await Promise.all(Array.from({ length: 16 }, () => apply([charge, held])));
    const charges = results.map(([result]) => requireLedgerSuccess(result));
    const holds = results.map(([, result]) => requireLedgerSuccess(result));
    expect(new Set(charges.map((done) => done.transferId)).size).toBe(1);
    expect(new Set(holds.map((done) => done.holdId)).size).toBe(1);
    expect(charges.filter((done) => !done.replayed)).toHaveLength(1);
    expect(holds.filter((done) => !done.replayed)).toHaveLength(1);
    expect(await balanceOf(orgId)).toEqual([97, 5, 92]);
  });

  const charge = { do: 'debit', kind: 'charge', description: 'Used' } as const;
  const all = { amount: usd(3), to: revenue(usd(3)) };
  it.each<[string, (orgId: OrgId) => Promise<LedgerCommand>]>([
    ['charge', async (orgId) => ({ ...base(orgId), ...charge, ...all, step: 'x', whenShort: 'refuse' })],
    ['hold', async (orgId) => ({ ...hold(orgId, 3), step: 'x' })],
    [
      'last posting of a hold',
      async (orgId) => {
        const { holdId } = requireLedgerSuccess((await apply([hold(orgId, 3)]))[0]);
        if (holdId === null) throw new Error('no hold');
        return {
          ...base(orgId),
          ...all,
          do: 'post',
          step: 'x',
          holdId,
          afterwards: 'close',
          description: 'Used',
        };
      },
    ],
    [
      'refund',
      async (orgId) => {
        const [result] = await apply([{ ...base(orgId), ...charge, ...all, step: 'c', whenShort: 'refuse' }]);
        const { transferId } = requireLedgerSuccess(result);
        if (transferId === null) throw new Error('no transfer');
        return { ...base(orgId), do: 'refund', step: 'x', transferId, amount: usd(3), description: 'Back' };
      },
    ],
  ])('for a %s that uses up the balance all get the first result', async (_what, prepare) => {
    const orgId = await createOrganisation(db);
    await apply([topUp(orgId, 3)]);
    const command = await prepare(orgId);
    const responses = await Promise.all(Array.from({ length: 8 }, () => apply([command])));
    const done = responses.map(([result]) => requireLedgerSuccess(result));
    const first = done.find(({ replayed }) => !replayed);
    for (const response of done) expect({ ...response, replayed: false }).toEqual(first);
    expect(done.filter(({ replayed }) => !replayed)).toHaveLength(1);
  });
});

describe('step used in one mode', () => {
  it('is refused in the other mode, in the same batch or a later one', async () => {
    const orgId = await createOrganisation(db);
    const live = topUp(orgId, 5);
    const held = hold(orgId, 1);
    const reused = { ok: false, reason: 'STEP_REUSED' };
    const [, , ...batch] = await apply([live, held, { ...live, mode: 'test' }, { ...held, mode: 'test' }]);
    expect(batch).toMatchObject([reused, reused]);
    const later = await apply([
      { ...live, mode: 'test' },
      { ...held, mode: 'test' },
    ]);
    expect(later).toMatchObject([reused, reused]);
  });
});

describe('charge beyond hold and balance', () => {
  it('is absorbed by the operator, and the balance keeps its floor', async () => {
    const orgId = await createOrganisation(db);
    await apply([topUp(orgId, 5)]);
    const { holdId } = requireLedgerSuccess((await apply([hold(orgId, 2)]))[0]);
    if (holdId === null) throw new Error('no hold');
    const [result] = await apply([
      {
        ...base(orgId),
        step: step(),
        do: 'post',
        holdId,
        amount: usd(9),
        to: revenue(usd(9)),
        afterwards: 'close',
        description: 'After an outage',
      },
    ]);
    expect(result).toMatchObject({ ok: true, amount: usd(-5), shortfall: usd(4) });
    expect(await balanceOf(orgId)).toEqual([0, 0, 0]);
  });
});

describe(failingLoop('take expired promotional credit'), () => {
  it.each<Poison>(['throws', 'times out'])(
    'whose write %s does not stop the loop from expiring credit of other organisations',
    async (how) => {
      const [bad, good] = [await createOrganisation(db), await createOrganisation(db)];
      for (const orgId of [bad, good]) {
        await apply([
          {
            ...base(orgId),
            step: step(),
            do: 'credit',
            kind: 'grant',
            amount: usd(3),
            from: [{ account: { kind: 'grants' }, amount: usd(3) }],
            promo: { priority: 10, expiresAt: new Date(Date.now() - 1_000) },
            description: 'Welcome',
          },
        ]);
      }
      const when = `new.org_id = '${toUuid(bad)}' and new.kind = 'expiry'`;
      const removeFault = await poisonRows(database, { table: 'ledger_transfers', when, how });
      const { balance } = await readBalance(db, good, 'live', new Date());
      await expirePromos(db, { log: testLog(), limit: 100 });
      await removeFault();
      const left = async (orgId: OrgId) => (await readBalance(db, orgId, 'live', new Date())).balance;
      expect([await left(bad), await left(good)]).toEqual([balance, 0n]);
      const expired = await listExpired();
      expect([expired.includes(bad), expired.includes(good)]).toEqual([true, false]);
    },
  );
});

describe('promotional credit with a budget', () => {
  it('is spent by expiry, counted in the budget and stopped by it', async () => {
    const orgId = await createOrganisation(db);
    await apply([
      topUp(orgId, 10),
      {
        ...base(orgId),
        step: step(),
        do: 'credit',
        kind: 'grant',
        amount: usd(3),
        from: [{ account: { kind: 'grants' }, amount: usd(3) }],
        promo: { priority: 10, expiresAt: new Date(Date.now() + 3_600_000) },
        description: 'Welcome',
      },
    ]);
    await db.transaction({ name: 'budget', isolation: 'read committed' }, (tx) =>
      createBudget(tx, {
        orgId,
        mode: 'live',
        name: 'all',
        keyIds: null,
        period: 'day',
        limit: usd(6),
        thresholdsPercent: [50],
        onExceeded: 'stop_everything',
      }),
    );
    const { holdId } = requireLedgerSuccess((await apply([hold(orgId, 4)]))[0]);
    if (holdId === null) throw new Error('no hold');
    expect((await apply([hold(orgId, 3)]))[0]).toMatchObject({ ok: false, reason: 'BUDGET_EXCEEDED' });
    const [charged] = await apply([
      {
        ...base(orgId),
        step: step(),
        do: 'post',
        holdId,
        amount: usd(4),
        to: revenue(usd(4)),
        afterwards: 'close',
        description: 'Work',
      },
    ]);
    const { transferId } = requireLedgerSuccess(charged);
    expect(await balanceOf(orgId)).toEqual([9, 0, 9]);
    const events = await db.kysely.selectFrom('outbox').select('type').execute();
    expect(events.map((event) => event.type)).toContain('budget.threshold');
    if (transferId === null) throw new Error('no transfer');
    const refund = (amount: number): LedgerCommand => ({
      ...base(orgId),
      step: step(),
      do: 'refund',
      transferId,
      amount: usd(amount),
      description: 'Sorry',
    });
    expect((await apply([refund(3), refund(2), refund(1)])).map((result) => result.ok)).toEqual([
      true,
      false,
      true,
    ]);
    expect(await balanceOf(orgId)).toEqual([13, 0, 13]);
    const listed = await listTransfers(db, orgId, {}, { limit: 10, after: null });
    expect(listed.map((entry) => entry.kind)).toEqual(['refund', 'refund', 'charge', 'grant', 'top_up']);
  });
});

describe('budget that is changed while its period ends', () => {
  it('has exactly the new limit in the next period', async () => {
    const orgId = await createOrganisation(db);
    await apply([topUp(orgId, 100)]);
    const midnightMs = Date.UTC(2030, 0, 2);
    // The clock advances with every read.
    let nowMs = midnightMs - 60_000;
    let passesMs = 0;
    const clock = { ...systemClock, nowMs: () => (nowMs += passesMs), now: () => new Date(nowMs) };
    const ids = createIdSource({ clock: systemClock, cell: 1 });
    const ticking = createDb({ url: database.url, poolSize: 2, clock, ids, log: testLog() });
    const run = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
      ticking.transaction({ name: 'test', isolation: 'read committed' }, work);
    const request = { orgId, mode: 'live', name: 'day', keyIds: null, period: 'day' } as const;
    const { id } = await run((tx) =>
      createBudget(tx, { ...request, limit: usd(10), thresholdsPercent: [], onExceeded: 'notify' }),
    );
    nowMs = midnightMs - 3;
    passesMs = 2;
    await run((tx) => changeBudget(tx, orgId, 'live', id, { limit: usd(15) }));
    nowMs = midnightMs + 60_000;
    const charge = { do: 'debit', kind: 'charge', whenShort: 'refuse', description: 'Used' } as const;
    const one = { ...base(orgId), ...charge, step: step(), amount: usd(1), to: revenue(usd(1)) };
    await run((tx) => applyLedger(tx, [one]));
    expect(await findBudget(ticking, orgId, 'live', id)).toMatchObject({ limit: usd(15), spent: usd(1) });
    await ticking.close();
  });
});
