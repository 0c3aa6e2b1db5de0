import type { Random } from '@millrace/runners';
import type { LedgerCommand, Share } from '@millrace/core/ledger';
import type { BudgetId, HoldId, KeyId, LedgerAccountId, TransferId } from '@millrace/platform/ids';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { ownMoney, type Hold, type Tenant, type Transfer } from './accounts.ts';
import type { Oracle } from './oracle.ts';

/** Random ledger commands. Balances stay small, so that refusals are as common as successes. */

export interface KnownState {
  readonly oracle: Oracle;
  readonly tenants: readonly Tenant[];
  /** Open holds and some closed ones, all with known ids. */
  readonly holds: readonly Hold[];
  readonly transfers: readonly Transfer[];
  readonly nowMs: number;
  readonly nextStep: () => string;
}

const products = ['rental', 'volume', 'inference', 'instance'] as const;

/** Amounts of all magnitudes with odd nano-USD, sometimes zero. */
export function amountFrom(random: Random, mostUsd = 5): NanoUsd {
  if (random.chance(0.02)) return nanoUsd(0n);
  if (random.chance(0.05)) return nanoUsd(BigInt(random.int(1, 3)));
  const nano = BigInt(random.int(1, 1_000_000_000)) * BigInt(random.int(1, mostUsd));
  return nanoUsd(nano);
}

/** Revenue, or a marketplace split between a supplier and the fee. */
function sharesFrom(known: KnownState, random: Random, tenant: Tenant, amount: NanoUsd): Share[] {
  const product = random.pick(products);
  if (amount === 0n || random.chance(0.6)) return [{ account: { kind: 'revenue', product }, amount }];
  const fee = nanoUsd((amount * BigInt(random.int(0, 100))) / 100n);
  const supplier = random.pick(known.tenants.filter(({ mode }) => mode === tenant.mode));
  const shares: Share[] = [
    {
      account: { kind: 'supplier_payable', orgId: supplier.orgId },
      amount: nanoUsd(amount - fee),
    },
  ];
  if (random.chance(0.3) && fee > 1n) {
    const part = nanoUsd(fee / 2n);
    shares.push({ account: { kind: 'revenue', product }, amount: part });
    shares.push({ account: { kind: 'platform_fee' }, amount: nanoUsd(fee - part) });
  } else shares.push({ account: { kind: 'platform_fee' }, amount: fee });
  return shares;
}

const commandMakers = {
  topUp(known: KnownState, random: Random, tenant: Tenant): LedgerCommand {
    const amount = amountFrom(random, 6);
    return {
      ...base(known, random, tenant, 'deposit'),
      do: 'credit',
      kind: 'top_up',
      amount,
      from: [{ account: { kind: 'payments_clearing' }, amount }],
      description: 'Top-up',
    };
  },
  grant(known: KnownState, random: Random, tenant: Tenant): LedgerCommand {
    const amount = amountFrom(random, 3);
    const forMs = random.pick([60_000, 3_600_000, 86_400_000, 10 * 86_400_000]);
    const expiresAt = random.chance(0.2) ? null : new Date(known.nowMs + random.int(-1000, forMs));
    return {
      ...base(known, random, tenant, 'grant'),
      do: 'credit',
      kind: 'grant',
      amount,
      from: [{ account: { kind: 'grants' }, amount }],
      promo: { priority: random.pick([10, 50, 50, 100, 200]), expiresAt },
      description: 'Promotional credit',
    };
  },
  /** Credit for undelivered work, partly paid by the supplier, whose earnings may have been paid out already. */
  giveBack(known: KnownState, random: Random, tenant: Tenant): LedgerCommand {
    const amount = amountFrom(random, 2);
    return {
      ...base(known, random, tenant, 'rental'),
      do: 'credit',
      kind: random.pick(['credit', 'adjustment'] as const),
      amount,
      from: random.chance(0.5)
        ? sharesFrom(known, random, tenant, amount)
        : [{ account: { kind: 'adjustments' }, amount }],
      description: 'Given back',
    };
  },
  debit(known: KnownState, random: Random, tenant: Tenant): LedgerCommand {
    const amount = amountFrom(random);
    const kind = random.pick(['charge', 'charge', 'charge', 'adjustment', 'clawback'] as const);
    return {
      ...base(known, random, tenant, 'volume'),
      ...keyOf(random, tenant),
      do: 'debit',
      kind,
      amount,
      to:
        kind === 'charge'
          ? sharesFrom(known, random, tenant, amount)
          : [{ account: { kind: kind === 'clawback' ? 'payments_clearing' : 'adjustments' }, amount }],
      whenShort: random.pick(['refuse', 'shortfall'] as const),
      usage: { gpuMs: random.int(0, 3_600_000) },
      description: 'Used',
    };
  },
  payout(known: KnownState, random: Random, tenant: Tenant): LedgerCommand {
    const amount = amountFrom(random, 3);
    return {
      ...base(known, random, tenant, 'payout'),
      do: 'debit',
      kind: 'payout',
      amount,
      to: [{ account: { kind: 'payments_clearing' }, amount }],
      whenShort: 'refuse',
      description: 'Payout',
    };
  },
  ask(known: KnownState, random: Random, tenant: Tenant): LedgerCommand {
    return {
      ...base(known, random, tenant, 'payout'),
      do: 'hold',
      of: 'earnings',
      amount: amountFrom(random, 2),
      demand: 'new',
    };
  },
  settle(known: KnownState, random: Random): LedgerCommand | null {
    const requested = known.holds.filter(({ ofEarnings }) => ofEarnings).slice(-20);
    if (requested.length === 0) return null;
    const hold = random.pick(requested);
    const command = { ...base(known, random, hold.tenant, 'payout'), holdId: hold.id as HoldId };
    return random.chance(0.6)
      ? { ...command, do: 'pay_out', description: 'Payout' }
      : { ...command, do: 'close', of: 'earnings' };
  },
  hold(known: KnownState, random: Random, tenant: Tenant): LedgerCommand {
    const amount = amountFrom(random, 4);
    const budget = random.pick([null, null, null, null, ...tenant.budgets]);
    return {
      ...base(known, random, tenant, 'rental'),
      ...(budget === null ? keyOf(random, tenant) : { onlyBudgets: [budget.id as BudgetId] }),
      do: 'hold',
      amount,
      ...(random.chance(0.4) ? { atLeast: nanoUsd(amount / BigInt(random.int(1, 10))) } : {}),
      demand: random.pick(['new', 'new', 'running'] as const),
    };
  },
  resize(known: KnownState, random: Random): LedgerCommand | null {
    const hold = pickHold(known, random);
    if (hold === null) return null;
    const target = amountFrom(random, 4);
    return {
      ...base(known, random, hold.tenant, 'rental'),
      do: 'resize',
      holdId: hold.id as HoldId,
      target,
      ...(random.chance(0.4) ? { atLeast: nanoUsd(target / BigInt(random.int(1, 10))) } : {}),
      demand: random.pick(['new', 'running'] as const),
    };
  },
  post(known: KnownState, random: Random): LedgerCommand | null {
    const hold = pickHold(known, random);
    if (hold === null || hold.onlyBudget !== null) return null;
    const amount = random.chance(0.3) ? nanoUsd(hold.held) : amountFrom(random, 2);
    const keep = { target: amountFrom(random, 2) };
    return {
      ...base(known, random, hold.tenant, 'rental'),
      ...(random.chance(0.1) ? keyOf(random, hold.tenant) : {}),
      do: 'post',
      holdId: hold.id as HoldId,
      amount,
      to: sharesFrom(known, random, hold.tenant, amount),
      afterwards: random.pick(['keep', 'keep', 'close', keep] as const),
      ...(random.chance(0.2) ? { beyondHold: 'operator' as const } : {}),
      usage: { requests: 1 },
      description: 'Posted',
    };
  },
  close(known: KnownState, random: Random): LedgerCommand | null {
    const hold = pickHold(known, random);
    if (hold === null) return null;
    return { ...base(known, random, hold.tenant, 'rental'), do: 'close', holdId: hold.id as HoldId };
  },
  refund(known: KnownState, random: Random): LedgerCommand | null {
    const source = pickTransfer(known, random, random.chance(0.9) ? 'charge' : null);
    if (source === null) return null;
    const paid = source.amount < 0n ? -source.amount : source.amount;
    const amount = random.chance(0.2) ? paid : (paid * BigInt(random.int(0, 110))) / 100n;
    return {
      ...base(known, random, source.tenant, 'refund'),
      do: 'refund',
      transferId: source.id as TransferId,
      amount: nanoUsd(amount),
      description: 'Refund',
    };
  },
  reverse(known: KnownState, random: Random): LedgerCommand | null {
    const source = pickTransfer(known, random, null);
    if (source === null) return null;
    return {
      ...base(known, random, source.tenant, 'correction'),
      do: 'reverse',
      transferId: source.id as TransferId,
      description: 'Reversal',
    };
  },
  expire(known: KnownState, random: Random, tenant: Tenant): LedgerCommand | null {
    const promos = tenant.money.filter(({ what, id }) => what === 'promo' && id.length > 20);
    if (promos.length === 0) return null;
    const promo = random.pick(promos);
    const accountId = [...known.oracle.promoNames].find(([, name]) => name === promo.name)?.[0];
    if (accountId === undefined) return null;
    return {
      ...base(known, random, tenant, 'promo'),
      do: 'expire',
      accountId: accountId as LedgerAccountId,
    };
  },
} as const;

export type CommandKind = keyof typeof commandMakers;

/** Returns null if no command of this kind is possible now. */
export function makeCommand(known: KnownState, random: Random, request: CommandKind): LedgerCommand | null {
  const poor = known.tenants.filter((tenant) => ownMoney(tenant) < 1_000_000_000n);
  const tenant = request === 'topUp' && poor.length > 0 ? random.pick(poor) : random.pick(known.tenants);
  return commandMakers[request](known, random, tenant);
}

function base(known: KnownState, random: Random, tenant: Tenant, kind: string) {
  // Rarely, the command names resources of another tenant.
  const outsider = random.pick(known.tenants.filter(({ mode }) => mode === tenant.mode));
  const { orgId, mode } = random.chance(0.01) ? outsider : tenant;
  return { orgId, mode, cause: { kind, id: `c${random.int(1, 40)}` }, step: known.nextStep() };
}

function keyOf(random: Random, tenant: Tenant): { keyId?: KeyId } {
  const keyId = random.pick([null, ...tenant.keyIds]);
  return keyId === null ? {} : { keyId: keyId as KeyId };
}

function pickHold(known: KnownState, random: Random): Hold | null {
  const recent = known.holds.slice(-60);
  if (recent.length === 0) return null;
  return random.pick(recent);
}

function pickTransfer(known: KnownState, random: Random, kind: string | null): Transfer | null {
  const recent = known.transfers.slice(-200).filter((transfer) => kind === null || transfer.kind === kind);
  return recent.length === 0 ? null : random.pick(recent);
}
