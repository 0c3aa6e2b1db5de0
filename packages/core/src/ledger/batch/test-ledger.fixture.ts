import { createIdSource, fromUuid, toUuid, type BudgetId, type OrgId } from '@millrace/platform/ids';
import { SimulatedClock } from '@millrace/platform/clock';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { systemAccountId, type Account, type BudgetState } from './accounts.ts';
import { applyCommand } from './apply-command.ts';
import type { LedgerCommand, LedgerResult, LedgerSuccess, Product, Share } from '../model/ledger.ts';
import { walletKeyOf, type WorkingSet, type Wallet } from './working-set.ts';

/** An in-memory working set for tests of the decision functions, without a database. */

export const startMs = Date.UTC(2026, 5, 10, 12);

const shard = 3;

const systemKinds = [
  ...(['rental', 'volume', 'inference', 'instance'] as const).map(
    (product: Product) => ({ kind: 'revenue', product }) as const,
  ),
  ...(
    ['platform_fee', 'payments_clearing', 'grants', 'adjustments', 'shortfall', 'limit_contra'] as const
  ).map((kind) => ({ kind }) as const),
];

type AccountFields = Partial<Account> & Pick<Account, 'id' | 'kind'>;

export function account(fields: AccountFields): Account {
  return {
    orgId: null,
    mode: 'live',
    priority: 100,
    expiresAtMs: null,
    frozen: false,
    budget: null,
    isNew: false,
    balance: 0n,
    held: 0n,
    floor: null,
    entryCount: 0n,
    owed: 0n,
    writtenOff: 0n,
    hasCompanions: false,
    touched: false,
    ...fields,
  };
}

export interface TestLedger {
  readonly slice: WorkingSet;
  readonly orgId: OrgId;
  readonly supplierId: OrgId;
  readonly wallet: Wallet;
  readonly payable: Account;
  /** Runs a command of this organisation; a missing cause or step is filled in. */
  run(command: WithoutBase): LedgerResult;
  system(kind: (typeof systemKinds)[number]): Account;
  addPromo(fields: { balance: bigint; priority?: number; expiresAtMs?: number | null }): Account;
  addLimit(fields: Partial<BudgetState> & { left: bigint; held?: bigint }): { limit: Account; id: BudgetId };
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

export type WithoutBase = DistributiveOmit<LedgerCommand, 'orgId' | 'mode' | 'cause' | 'step'> & {
  step?: string;
};

export const usd = (amount: number): NanoUsd => nanoUsd(BigInt(amount));

export const revenue = (amount: number, product: Product = 'rental'): readonly Share[] => [
  { account: { kind: 'revenue', product }, amount: usd(amount) },
];

export interface TestLedgerOptions {
  readonly balance?: bigint;
  readonly floor?: bigint;
  readonly frozen?: boolean;
  readonly nowMs?: number;
}

export function createTestLedger(options: TestLedgerOptions = {}): TestLedger {
  const ids = createIdSource({ clock: new SimulatedClock(startMs), cell: 1 });
  const orgId = ids.next('org');
  const supplierId = ids.next('org');
  const orgUuid = toUuid(orgId);
  const credit = account({
    id: ids.nextUuid(),
    kind: 'credit',
    orgId: orgUuid,
    balance: options.balance ?? 0n,
    floor: options.floor ?? 0n,
    frozen: options.frozen ?? false,
  });
  const payable = account({
    id: ids.nextUuid(),
    kind: 'supplier_payable',
    orgId: toUuid(supplierId),
    floor: 0n,
  });
  const limits: Account[] = [];
  const wallet: Wallet = { orgId: orgUuid, mode: 'live', credit, money: [credit], limits };
  const systems = systemKinds.map((kind) =>
    account({ id: systemAccountId(kind, 'live', shard), kind: kind.kind }),
  );
  const slice: WorkingSet = {
    nowMs: options.nowMs ?? startMs,
    shard,
    nextUuid: () => ids.nextUuid(),
    accounts: new Map([credit, payable, ...systems].map((each) => [each.id, each])),
    wallets: new Map([[walletKeyOf(orgId, 'live'), wallet]]),
    payables: new Map([[walletKeyOf(toUuid(supplierId), 'live'), payable]]),
    holds: new Map(),
    holdsByKey: new Map(),
    transfersByKey: new Map(),
    undoable: new Map(),
    newTransfers: [],
    newEntries: [],
    notices: [],
  };
  let steps = 0;
  return {
    slice,
    orgId,
    supplierId,
    wallet,
    payable,
    run: (command) => {
      steps += 1;
      const base = { orgId, mode: 'live', cause: { kind: 'test', id: 'thing' }, step: `step ${steps}` };
      return applyCommand(slice, { ...base, ...command } as LedgerCommand);
    },
    system: (kind) => {
      const found = slice.accounts.get(systemAccountId(kind, 'live', shard));
      if (found === undefined) throw new Error('No such account.');
      return found;
    },
    addPromo: (fields) => {
      const promo = account({
        id: ids.nextUuid(),
        kind: 'promo',
        orgId: orgUuid,
        floor: 0n,
        balance: fields.balance,
        priority: fields.priority ?? 100,
        expiresAtMs: fields.expiresAtMs ?? null,
      });
      slice.accounts.set(promo.id, promo);
      wallet.money.push(promo);
      return promo;
    },
    addLimit: ({ left, held = 0n, ...budget }) => {
      const state: BudgetState = {
        keyIds: null,
        name: 'budget',
        period: 'day',
        limit: left,
        thresholdsPercent: [50, 75],
        onExceeded: 'stop_everything',
        periodStartMs: Date.UTC(2026, 5, 10),
        periodEndMs: Date.UTC(2026, 5, 11),
        notifiedPercent: 0,
        changed: false,
        ...budget,
      };
      const floor = state.onExceeded === 'stop_everything' ? 0n : null;
      const limit = account({
        id: ids.nextUuid(),
        kind: 'limit',
        orgId: orgUuid,
        balance: left,
        held,
        floor,
        budget: state,
      });
      slice.accounts.set(limit.id, limit);
      limits.push(limit);
      return { limit, id: fromUuid('bdg', limit.id) };
    },
  };
}

/** Checks the ledger invariants and returns a message for each violation. */
export function findInconsistencies(ledger: TestLedger): readonly string[] {
  const complaints: string[] = [];
  const sums = new Map<string, bigint>();
  for (const entry of ledger.slice.newEntries) {
    sums.set(entry.transferId, (sums.get(entry.transferId) ?? 0n) + entry.amount);
    if (entry.amount === 0n) complaints.push('an entry of zero');
  }
  for (const [id, sum] of sums) if (sum !== 0n) complaints.push(`transfer ${id} sums to ${sum}`);
  const heldIn = new Map<string, bigint>();
  for (const hold of ledger.slice.holds.values()) {
    let money = 0n;
    for (const [accountId, held] of hold.amounts) {
      heldIn.set(accountId, (heldIn.get(accountId) ?? 0n) + held);
      if (held < 0n) complaints.push('a negative part');
      if (ledger.slice.accounts.get(accountId)?.kind !== 'limit') money += held;
    }
    const budgetsOnly = [...hold.amounts.keys()].every(
      (id) => ledger.slice.accounts.get(id)?.kind === 'limit',
    );
    if (money !== hold.held && !(budgetsOnly && hold.amounts.size > 0))
      complaints.push(`a hold of ${hold.held} has ${money}`);
    if (hold.closedAtMs !== null && hold.held !== 0n) complaints.push('a closed hold still holds money');
  }
  for (const each of ledger.slice.accounts.values()) {
    if (each.held < 0n) complaints.push(`${each.kind} holds ${each.held}`);
    if (each.floor !== null && each.balance - each.held < each.floor)
      complaints.push(`${each.kind} is below its floor`);
    if (each.owed < 0n || (each.owed > 0n && each.balance > each.held))
      complaints.push(`${each.kind} owes ${each.owed} and has free credit`);
    if (each.kind !== 'limit' && each.held !== (heldIn.get(each.id) ?? 0n))
      complaints.push(`${each.kind} holds an amount that its holds do not explain`);
  }
  return complaints;
}

export function ok(result: LedgerResult): LedgerSuccess {
  if (!result.ok) throw new Error(`Refused: ${result.reason}`);
  return result;
}

export function holdOf(ledger: TestLedger, amount: number, step?: string) {
  const { holdId } = ok(
    ledger.run({ do: 'hold', amount: usd(amount), demand: 'new', ...(step ? { step } : {}) }),
  );
  if (holdId === null) throw new Error('no hold');
  return holdId;
}

export const post = (
  holdId: LedgerSuccess['holdId'],
  amount: number,
  afterwards: 'keep' | 'close' | { target: ReturnType<typeof usd> },
) => {
  if (holdId === null) throw new Error('no hold');
  return {
    do: 'post',
    holdId,
    amount: usd(amount),
    to: revenue(amount),
    afterwards,
    description: 'Use',
  } as const;
};

export const money = ({ wallet }: TestLedger) => [wallet.credit.balance, wallet.credit.held];
