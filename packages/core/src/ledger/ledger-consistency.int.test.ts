import { SimulatedClock, systemClock, type Clock } from '@millrace/platform/clock';
import { createDb } from '@millrace/platform/db';
import { createIdSource, type HoldId, type KeyId, type OrgId, type TransferId } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { nanoUsd } from '@millrace/platform/money';
import {
  createOrganisation,
  createTestDatabase,
  longDbTimeouts,
  TEST_START_MS,
  testIds,
} from '@millrace/testing';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import {
  applyLedger,
  changeBudget,
  createBudget,
  removeBudget,
  requireLedgerSuccess,
  type BudgetRecord,
  type LedgerCommand,
  type LedgerResult,
} from './index.ts';

/** Regression tests for cases that the simulation found: a result must not depend on other commands or on timing. */

const clock = new SimulatedClock(TEST_START_MS);
const hybrid: Clock = {
  nowMs: () => clock.nowMs(),
  now: () => clock.now(),
  monotonicMs: () => systemClock.monotonicMs(),
  sleep: (ms, signal) => systemClock.sleep(ms, signal),
  after: (ms, action) => systemClock.after(ms, action),
};
let orgId: OrgId;
const database = await createTestDatabase();
const db = createDb({
  ...longDbTimeouts,
  url: database.url,
  poolSize: 4,
  clock: hybrid,
  ids: createIdSource({ clock, cell: 1 }),
  log: createLogger({ name: 'test', level: 'error' }),
});
afterAll(async () => {
  await db.close();
  await database.drop();
});
beforeEach(async () => {
  orgId = await createOrganisation(db);
});

const usd = (amount: number) => nanoUsd(BigInt(amount));
const apply = (...commands: LedgerCommand[]): Promise<readonly LedgerResult[]> =>
  db.transaction({ name: 'test', isolation: 'read committed' }, (tx) => applyLedger(tx, commands));
const only = async (command: LedgerCommand) => requireLedgerSuccess((await apply(command))[0]);

let steps = 0;
const base = () =>
  ({ orgId, mode: 'live', cause: { kind: 'test', id: 'one' }, step: `${(steps += 1)}` }) as const;
const topUp = (amount: number, promo?: { priority: number; expiresAt: Date | null }): LedgerCommand => ({
  ...base(),
  do: 'credit',
  kind: promo === undefined ? 'top_up' : 'grant',
  amount: usd(amount),
  from: [{ account: { kind: 'payments_clearing' }, amount: usd(amount) }],
  ...(promo === undefined ? {} : { promo }),
  description: 'In',
});
const post = (holdId: HoldId, amount: number, afterwards: 'keep' | 'close' = 'keep'): LedgerCommand => ({
  ...base(),
  do: 'post',
  holdId,
  amount: usd(amount),
  to: [{ account: { kind: 'revenue', product: 'rental' }, amount: usd(amount) }],
  afterwards,
  description: 'Out',
});
const refund = (transferId: TransferId, amount: number): LedgerCommand => ({
  ...base(),
  do: 'refund',
  transferId,
  amount: usd(amount),
  description: 'Back',
});
async function hold(amount: number, keyId?: KeyId): Promise<HoldId> {
  const { holdId } = await only({
    ...base(),
    do: 'hold',
    amount: usd(amount),
    demand: 'new',
    ...(keyId === undefined ? {} : { keyId }),
  });
  if (holdId === null) throw new Error('no hold');
  return holdId;
}
function budget(request: Partial<Pick<BudgetRecord, 'keyIds' | 'period' | 'onExceeded'>>, limit: number) {
  return db.transaction({ name: 'test', isolation: 'read committed' }, (tx) =>
    createBudget(tx, {
      orgId,
      mode: 'live',
      name: 'all',
      keyIds: null,
      period: 'day',
      thresholdsPercent: [],
      onExceeded: 'stop_everything',
      ...request,
      limit: usd(limit),
    }),
  );
}
const change = (id: BudgetRecord['id'], limit: number) =>
  db.transaction({ name: 'test', isolation: 'read committed' }, (tx) =>
    changeBudget(tx, orgId, 'live', id, { limit: usd(limit) }),
  );

describe('budget', () => {
  it('of a key counts postings from an older hold, regardless of the rest of the batch', async () => {
    const keyId = testIds.next('key');
    await only(topUp(100));
    const holdId = await hold(50, keyId);
    const { id } = await budget({ keyIds: [keyId], onExceeded: 'notify' }, 40);
    await only(post(holdId, 7));
    expect(await change(id, 41)).toMatchObject({ spent: 7n });
  });

  it('whose period has ended starts the next period with exactly the new limit', async () => {
    const { id } = await budget({}, 10);
    await clock.advance(2 * 86_400_000);
    expect(await change(id, 30)).toMatchObject({ limit: 30n, spent: 0n });
  });

  it('that was deleted does not block a hold that still has a part in it', async () => {
    const { id } = await budget({}, 10);
    const { holdId } = await only({
      ...base(),
      do: 'hold',
      amount: usd(8),
      demand: 'new',
      onlyBudgets: [id],
    });
    if (holdId === null) throw new Error('no hold');
    await db.transaction({ name: 'test', isolation: 'read committed' }, (tx) =>
      removeBudget(tx, orgId, 'live', id),
    );
    const grown = await only({ ...base(), do: 'resize', holdId, target: usd(20), demand: 'running' });
    expect(grown.held).toBe(20n);
    await only({ ...base(), do: 'close', holdId });
  });
});

describe('zero charge', () => {
  it('that closes a hold can be replayed', async () => {
    await only(topUp(10));
    const last = post(await hold(5), 0, 'close');
    expect(await only(last)).toMatchObject({ replayed: false, held: 0n });
    expect(await only(last)).toMatchObject({ replayed: true, held: 0n });
  });
});

describe('reversal', () => {
  it('of a charge with a shortfall returns the same result when replayed', async () => {
    await only(topUp(3));
    const { transferId } = await only(post(await hold(3), 5));
    if (transferId === null) throw new Error('no transfer');
    const reversal: LedgerCommand = { ...base(), do: 'reverse', transferId, description: 'Undo' };
    const first = await only(reversal);
    expect(await only(reversal)).toEqual({ ...first, replayed: true });
  });
});

describe('refund', () => {
  it('is taken from all recipients in proportion and returned to paid credit first', async () => {
    const supplier = await createOrganisation(db);
    const later = { priority: 10, expiresAt: new Date(clock.nowMs() + 60_000) };
    await apply(topUp(10), topUp(10, later));
    const { transferId } = await only({
      ...base(),
      do: 'debit',
      kind: 'charge',
      amount: usd(20),
      to: [
        { account: { kind: 'supplier_payable', orgId: supplier }, amount: usd(15) },
        { account: { kind: 'platform_fee' }, amount: usd(5) },
      ],
      whenShort: 'refuse',
      description: 'Split',
    });
    if (transferId === null) throw new Error('no transfer');
    const { transferId: back } = await only(refund(transferId, 12));
    const { rows } = await database.connect().then(async (client) => {
      const found = await client.query<{ kind: string; amount: string }>(
        `select a.kind, e.amount_nano_usd as amount
           from ledger_entries e join ledger_accounts a on a.id = e.account_id
           join ledger_transfers t on t.id = e.transfer_id where t.kind = 'refund' and t.org_id = a.org_id
             or t.kind = 'refund' and a.kind in ('supplier_payable', 'platform_fee') order by a.kind`,
      );
      await client.end();
      return found;
    });
    expect(back).not.toBeNull();
    expect(rows).toEqual([
      { kind: 'credit', amount: '10' },
      { kind: 'platform_fee', amount: '-3' },
      { kind: 'promo', amount: '2' },
      { kind: 'supplier_payable', amount: '-9' },
    ]);
  });

  it('of a reversed charge is refused alike in the same batch and in the next', async () => {
    await only(topUp(10));
    const { transferId } = await only(post(await hold(5), 5));
    if (transferId === null) throw new Error('no transfer');
    const reversal: LedgerCommand = { ...base(), do: 'reverse', transferId, description: 'Undo' };
    const [, together] = await apply(reversal, refund(transferId, 1));
    const [apart] = await apply(refund(transferId, 1));
    expect(together).toEqual(apart);
  });
});
