import type { LedgerCommand, Share } from '@millrace/core/ledger';
import { fromUuid, type OrgId } from '@millrace/platform/ids';
import {
  endOfPeriod,
  freeIn,
  inSpendingOrder,
  minBigint,
  maxBigint,
  ownMoney,
  type Account,
  type Budget,
  type Hold,
  type Mode,
  type OnExceeded,
  type Tenant,
  type Transfer,
} from './accounts.ts';

export type Prediction =
  | {
      readonly ok: true;
      readonly replayed: boolean;
      readonly transfer: Transfer | null;
      readonly hold: Hold | null;
      readonly amount: bigint;
      readonly held: bigint;
      readonly shortfall: bigint;
      readonly balanceAfter: bigint;
    }
  | {
      readonly ok: false;
      readonly reason: string;
      readonly available: bigint | null;
      readonly budgetId: string | null;
    };

export type Of<Do extends LedgerCommand['do']> = Extract<LedgerCommand, { do: Do }>;

export type AmountsByAccount = Map<Account, bigint>;

export const refusedPrediction = (
  reason: string,
  available: bigint | null = null,
  budgetId: string | null = null,
): Prediction => ({
  ok: false,
  reason,
  available,
  budgetId,
});

export const bump = (amounts: AmountsByAccount, account: Account, by: bigint): void => {
  amounts.set(account, (amounts.get(account) ?? 0n) + by);
};

export const sum = (amounts: Iterable<bigint>): bigint => {
  let total = 0n;
  for (const part of amounts) total += part;
  return total;
};

/** Accounts, budgets, holds and transfers of the oracle, as plain numbers. */
export class OracleState {
  readonly tenants = new Map<string, Tenant>();

  readonly system = new Map<string, Account>();

  readonly transfers = new Map<string, Transfer>();

  readonly holdsByKey = new Map<string, Hold>();

  readonly holds = new Map<string, Hold>();

  readonly transfersById = new Map<string, Transfer>();

  /** Budget events that the ledger must have emitted. */
  readonly emitted = new Map<string, number>();

  nowMs = 0;

  /** Number of transfers, without those of budgets, which the ledger writes only when a budget is next used. */
  recorded = 0;

  addTenant(orgId: OrgId, mode: Mode, keyIds: readonly string[]): Tenant {
    // Earnings have no fixed floor: only a positive balance is available, and refunds may make the balance negative.
    const make = (what: 'credit' | 'earned'): Account => ({
      what,
      name: `${what} of ${orgId} ${mode}`,
      id: '',
      balance: 0n,
      held: 0n,
      floor: what === 'earned' ? null : 0n,
      priority: 100,
      expiresAtMs: null,
    });
    const credit = make('credit');
    const tenant: Tenant = {
      orgId,
      mode,
      credit,
      money: [credit],
      earned: make('earned'),
      budgets: [],
      keyIds,
      frozen: false,
      owed: 0n,
    };
    this.tenants.set(`${orgId}:${mode}`, tenant);
    return tenant;
  }

  tenant(orgId: OrgId, mode: Mode): Tenant {
    const tenant = this.tenants.get(`${orgId}:${mode}`);
    if (tenant === undefined) throw new Error(`The oracle has no tenant ${orgId} in ${mode}.`);
    return tenant;
  }

  /** One account per kind, product and mode, regardless of how many rows the ledger uses for it. */
  systemAccount(kind: string, product: string | null, mode: Mode): Account {
    const name = `${kind}${product === null ? '' : ` ${product}`} ${mode}`;
    const known = this.system.get(name);
    if (known !== undefined) return known;
    const made: Account = {
      what: 'system',
      name,
      id: `~${['revenue', 'platform_fee', 'payments_clearing', 'grants', 'adjustments', 'shortfall'].indexOf(kind)}${['rental', 'volume', 'inference', 'instance'].indexOf(product ?? '')}`,
      balance: 0n,
      held: 0n,
      floor: null,
      priority: 0,
      expiresAtMs: null,
    };
    this.system.set(name, made);
    return made;
  }

  rollBudgets(tenant: Tenant): void {
    for (const budget of tenant.budgets) {
      if (budget.removed || budget.endsAtMs === null || budget.endsAtMs > this.nowMs) continue;
      budget.endsAtMs = endOfPeriod(budget.period, this.nowMs);
      budget.notified = 0;
      budget.balance = budget.limit;
      if (budget.floor !== null) budget.floor = minBigint(0n, budget.balance - budget.held);
    }
  }

  addBudget(tenant: Tenant, budget: Budget): void {
    budget.endsAtMs = endOfPeriod(budget.period, this.nowMs);
    tenant.budgets.push(budget);
  }

  changeBudget(tenant: Tenant, budget: Budget, limit: bigint, onExceeded: OnExceeded): void {
    this.rollBudgets(tenant);
    if (limit > budget.limit) budget.notified = 0;
    budget.balance += limit - budget.limit;
    budget.limit = limit;
    budget.onExceeded = onExceeded;
    budget.floor = onExceeded === 'stop_everything' ? minBigint(0n, budget.balance - budget.held) : null;
  }

  key(command: LedgerCommand): string {
    return `${command.orgId} ${command.cause.kind}:${command.cause.id}:${command.step}`;
  }

  done(
    tenant: Tenant,
    transfer: Transfer | null = null,
    hold: Hold | null = null,
    replayed = false,
  ): Prediction {
    return {
      ok: true,
      replayed,
      transfer,
      hold,
      amount: transfer?.amount ?? 0n,
      held: hold?.held ?? 0n,
      shortfall: transfer?.shortfall ?? 0n,
      balanceAfter: transfer?.balanceAfter ?? ownMoney(tenant),
    };
  }

  before(tenant: Tenant, command: LedgerCommand, kind: string, hold: Hold | null = null): Prediction | null {
    const known = this.transfers.get(this.key(command));
    if (known === undefined) return null;
    return known.kind === kind ? this.done(tenant, known, hold, true) : refusedPrediction('STEP_REUSED');
  }

  enter(
    tenant: Tenant,
    command: LedgerCommand,
    kind: string,
    legs: AmountsByAccount,
    amount: bigint,
    shortfall = 0n,
  ): Transfer {
    for (const [account, by] of legs) {
      if (by === 0n) legs.delete(account);
      account.balance += by;
    }
    const transfer: Transfer = {
      id: null,
      tenant,
      kind,
      amount,
      shortfall,
      balanceAfter: ownMoney(tenant),
      legs,
      undone: new Map(),
      reversed: false,
    };
    this.transfers.set(this.key(command), transfer);
    this.recorded += 1;
    return transfer;
  }

  account(share: Share, mode: Mode): Account {
    const { account } = share;
    if (account.kind === 'supplier_payable') return this.tenant(account.orgId, mode).earned;
    return this.systemAccount(account.kind, account.kind === 'revenue' ? account.product : null, mode);
  }

  draw(accounts: readonly Account[], amount: bigint): AmountsByAccount {
    const amounts: AmountsByAccount = new Map();
    let missing = amount;
    for (const account of inSpendingOrder(accounts)) {
      if (account.expiresAtMs !== null && account.expiresAtMs <= this.nowMs) continue;
      const taken = minBigint(missing, freeIn(account));
      if (taken > 0n) amounts.set(account, taken);
      missing -= taken;
    }
    return amounts;
  }

  free(tenant: Tenant): bigint {
    return sum(
      tenant.money
        .filter((account) => account.expiresAtMs === null || account.expiresAtMs > this.nowMs)
        .map(freeIn),
    );
  }

  budgetsOf(tenant: Tenant, keyId: string | null): Budget[] {
    return tenant.budgets.filter(
      ({ removed, keyIds }) => !removed && (keyIds === null || (keyId !== null && keyIds.includes(keyId))),
    );
  }

  /** The budget with the smallest remainder among those that can refuse. */
  tightest(budgets: readonly Budget[], demand: 'new' | 'running'): { budget: Budget; left: bigint } | null {
    let found: { budget: Budget; left: bigint } | null = null;
    for (const budget of budgets) {
      if (budget.removed || budget.onExceeded === 'notify') continue;
      if (demand === 'running' && budget.onExceeded === 'stop_new_work') continue;
      const left = maxBigint(0n, budget.balance - budget.held);
      if (found === null || left < found.left) found = { budget, left };
    }
    return found;
  }

  count(legs: AmountsByAccount, budgets: readonly Budget[], paid: bigint): void {
    for (const budget of budgets) {
      const room = budget.floor === null ? paid : budget.balance - budget.held - budget.floor;
      const counted = minBigint(paid, room);
      if (counted > 0n) bump(legs, budget, -counted);
    }
  }

  notify(budgets: readonly Budget[]): void {
    for (const budget of budgets) {
      const used = maxBigint(0n, budget.limit - budget.balance);
      const reached = [...new Set([...budget.thresholds, 100])].filter(
        (percent) => percent > budget.notified && used * 100n >= BigInt(percent) * budget.limit,
      );
      for (const percent of reached) {
        if (budget.thresholds.includes(percent)) this.note(`budget.threshold ${budget.id}`);
        if (percent === 100) this.note(`budget.exceeded ${budget.id}`);
        budget.notified = Math.max(budget.notified, percent);
      }
    }
  }

  note(event: string): void {
    this.emitted.set(event, (this.emitted.get(event) ?? 0) + 1);
  }

  readonly promoNames = new Map<string, string>();

  /** Transfers of the expiry sweep, which returns no ids. */
  readonly unnamed: { transfer: Transfer; account: Account }[] = [];

  expireNow(tenant: Tenant, account: Account): void {
    const amount = freeIn(account);
    account.balance -= amount;
    const grants = this.systemAccount('grants', null, tenant.mode);
    grants.balance += amount;
    this.recorded += 1;
    const transfer: Transfer = {
      id: null,
      tenant,
      kind: 'expiry',
      amount: -amount,
      shortfall: 0n,
      balanceAfter: ownMoney(tenant),
      legs: new Map([
        [account, -amount],
        [grants, amount],
      ]),
      undone: new Map(),
      reversed: false,
    };
    this.unnamed.push({ transfer, account });
  }

  nameTransfer(transfer: Transfer, uuid: string): void {
    transfer.id = fromUuid('trf', uuid);
    this.transfersById.set(transfer.id, transfer);
  }
}
