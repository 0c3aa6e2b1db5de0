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

/** Simplified in-memory model of the ledger: applies commands one by one to plain numbers. It shares only types with the ledger. */

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

type Of<Do extends LedgerCommand['do']> = Extract<LedgerCommand, { do: Do }>;
type AmountsByAccount = Map<Account, bigint>;

const refusedPrediction = (
  reason: string,
  available: bigint | null = null,
  budgetId: string | null = null,
): Prediction => ({
  ok: false,
  reason,
  available,
  budgetId,
});

const bump = (amounts: AmountsByAccount, account: Account, by: bigint): void => {
  amounts.set(account, (amounts.get(account) ?? 0n) + by);
};

const sum = (amounts: Iterable<bigint>): bigint => {
  let total = 0n;
  for (const part of amounts) total += part;
  return total;
};

export class Oracle {
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

  decide(command: LedgerCommand, nowMs: number): Prediction {
    this.nowMs = nowMs;
    const tenant = this.tenant(command.orgId, command.mode);
    this.rollBudgets(tenant);
    const prediction = this.#decideCommand(tenant, command);
    this.#repay(tenant);
    return prediction;
  }

  /** Free paid credit repays the uncollected part of clawbacks. A reversed clawback returns the repayment. */
  #repay(tenant: Tenant): void {
    const { credit } = tenant;
    const repaid =
      tenant.owed < 0n ? tenant.owed : minBigint(tenant.owed, maxBigint(0n, credit.balance - credit.held));
    credit.balance -= repaid;
    tenant.owed -= repaid;
    this.systemAccount('shortfall', null, tenant.mode).balance += repaid;
  }

  #decideCommand(tenant: Tenant, command: LedgerCommand): Prediction {
    switch (command.do) {
      case 'credit':
        return this.#credit(tenant, command);
      case 'debit':
        return this.#debit(tenant, command);
      case 'hold':
        return this.#hold(tenant, command);
      case 'resize':
        return this.#resize(tenant, command);
      case 'post':
        return this.#post(tenant, command);
      case 'close':
        return this.#close(tenant, command);
      case 'pay_out':
        return this.#payOut(tenant, command);
      case 'refund':
        return this.#refund(tenant, command);
      case 'reverse':
        return this.#reverse(tenant, command);
      case 'expire':
        return this.#expire(tenant, command);
      case 'limit':
        throw new Error('Budgets are changed through their own functions.');
    }
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

  #key(command: LedgerCommand): string {
    return `${command.orgId} ${command.cause.kind}:${command.cause.id}:${command.step}`;
  }

  #done(
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

  #before(tenant: Tenant, command: LedgerCommand, kind: string, hold: Hold | null = null): Prediction | null {
    const known = this.transfers.get(this.#key(command));
    if (known === undefined) return null;
    return known.kind === kind ? this.#done(tenant, known, hold, true) : refusedPrediction('STEP_REUSED');
  }

  #enter(
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
    this.transfers.set(this.#key(command), transfer);
    this.recorded += 1;
    return transfer;
  }

  #account(share: Share, mode: Mode): Account {
    const { account } = share;
    if (account.kind === 'supplier_payable') return this.tenant(account.orgId, mode).earned;
    return this.systemAccount(account.kind, account.kind === 'revenue' ? account.product : null, mode);
  }

  #credit(tenant: Tenant, command: Of<'credit'>): Prediction {
    const before = this.#before(tenant, command, command.kind);
    if (before !== null) return before;
    if (command.amount === 0n) return this.#done(tenant);
    const legs: AmountsByAccount = new Map();
    let into = tenant.credit;
    if (command.promo !== undefined) {
      into = {
        what: 'promo',
        name: `promo ${tenant.money.length} of ${tenant.orgId} ${tenant.mode}`,
        // Sorts after all existing accounts, as a new id does, until the real id is known.
        id: `z${String(this.recorded).padStart(12, '0')}`,
        balance: 0n,
        held: 0n,
        floor: 0n,
        priority: command.promo.priority,
        expiresAtMs: command.promo.expiresAt?.getTime() ?? null,
      };
      tenant.money.push(into);
    }
    bump(legs, into, command.amount);
    for (const share of command.from) {
      const given: bigint = share.amount;
      bump(legs, this.#account(share, tenant.mode), -given);
    }
    return this.#done(tenant, this.#enter(tenant, command, command.kind, legs, command.amount));
  }

  #draw(accounts: readonly Account[], amount: bigint): AmountsByAccount {
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

  /** Clawbacks take paid credit first, regardless of the spending order. */
  #takeBackFrom(tenant: Tenant, amount: bigint): AmountsByAccount {
    const paid = this.#draw([tenant.credit], amount);
    const gifts = tenant.money.filter((account) => account !== tenant.credit);
    return new Map([...paid, ...this.#draw(gifts, amount - sum(paid.values()))]);
  }

  #free(tenant: Tenant): bigint {
    return sum(
      tenant.money
        .filter((account) => account.expiresAtMs === null || account.expiresAtMs > this.nowMs)
        .map(freeIn),
    );
  }

  #budgetsOf(tenant: Tenant, keyId: string | null): Budget[] {
    return tenant.budgets.filter(
      ({ removed, keyIds }) => !removed && (keyIds === null || (keyId !== null && keyIds.includes(keyId))),
    );
  }

  /** The budget with the smallest remainder among those that can refuse. */
  #tightest(budgets: readonly Budget[], demand: 'new' | 'running'): { budget: Budget; left: bigint } | null {
    let found: { budget: Budget; left: bigint } | null = null;
    for (const budget of budgets) {
      if (budget.removed || budget.onExceeded === 'notify') continue;
      if (demand === 'running' && budget.onExceeded === 'stop_new_work') continue;
      const left = maxBigint(0n, budget.balance - budget.held);
      if (found === null || left < found.left) found = { budget, left };
    }
    return found;
  }

  #count(legs: AmountsByAccount, budgets: readonly Budget[], paid: bigint): void {
    for (const budget of budgets) {
      const room = budget.floor === null ? paid : budget.balance - budget.held - budget.floor;
      const counted = minBigint(paid, room);
      if (counted > 0n) bump(legs, budget, -counted);
    }
  }

  #notify(budgets: readonly Budget[]): void {
    for (const budget of budgets) {
      const used = maxBigint(0n, budget.limit - budget.balance);
      const reached = [...new Set([...budget.thresholds, 100])].filter(
        (percent) => percent > budget.notified && used * 100n >= BigInt(percent) * budget.limit,
      );
      for (const percent of reached) {
        if (budget.thresholds.includes(percent)) this.#note(`budget.threshold ${budget.id}`);
        if (percent === 100) this.#note(`budget.exceeded ${budget.id}`);
        budget.notified = Math.max(budget.notified, percent);
      }
    }
  }

  #note(event: string): void {
    this.emitted.set(event, (this.emitted.get(event) ?? 0) + 1);
  }

  #debit(tenant: Tenant, command: Of<'debit'>): Prediction {
    const before = this.#before(tenant, command, command.kind);
    if (before !== null) return before;
    if (command.amount === 0n) return this.#done(tenant);
    const budgets = command.kind === 'charge' ? this.#budgetsOf(tenant, command.keyId ?? null) : [];
    const payout = command.kind === 'payout';
    const money = payout ? freeIn(tenant.earned) : this.#free(tenant);
    const tight = this.#tightest(budgets, 'new');
    const affordable = tight === null ? money : minBigint(money, tight.left);
    if (command.whenShort === 'refuse' && affordable < command.amount) {
      if (money < command.amount || tight === null) return refusedPrediction('INSUFFICIENT_BALANCE', money);
      return refusedPrediction('BUDGET_EXCEEDED', tight.left, tight.budget.id);
    }
    const wanted = minBigint(command.amount, affordable);
    const amounts =
      command.kind === 'clawback'
        ? this.#takeBackFrom(tenant, wanted)
        : this.#draw(payout ? [tenant.earned] : tenant.money, wanted);
    const paid = sum(amounts.values());
    const shortfall = command.amount - paid;
    const legs: AmountsByAccount = new Map();
    for (const [account, part] of amounts) bump(legs, account, -part);
    bump(legs, this.systemAccount('shortfall', null, tenant.mode), -shortfall);
    for (const share of command.to) bump(legs, this.#account(share, tenant.mode), share.amount);
    this.#count(legs, budgets, paid);
    const transfer = this.#enter(tenant, command, command.kind, legs, -paid, shortfall);
    if (command.kind === 'clawback') tenant.owed += shortfall;
    this.#notify(budgets);
    return this.#done(tenant, transfer);
  }

  #reserved(hold: Hold, account: Account, by: bigint): void {
    account.held += by;
    bump(hold.amounts, account, by);
  }

  /** Holds up to `more` and at least `atLeast`, or returns the reason of the refusal. */
  #grow(
    hold: Hold,
    budgets: readonly Budget[],
    request: { more: bigint; atLeast: bigint; demand: 'new' | 'running' },
  ): Prediction | null {
    const { earned } = hold.tenant;
    const free = hold.ofEarnings ? freeIn(earned) : this.#free(hold.tenant);
    const money = hold.onlyBudget === null ? free : request.more;
    const tight = this.#tightest(budgets, request.demand);
    let amount = minBigint(request.more, money);
    if (amount < request.atLeast) return refusedPrediction('INSUFFICIENT_BALANCE', money);
    if (tight !== null && tight.left < amount) amount = tight.left;
    if (tight !== null && amount < request.atLeast)
      return refusedPrediction('BUDGET_EXCEEDED', tight.left, tight.budget.id);
    if (hold.onlyBudget === null) {
      const payers = hold.ofEarnings ? [earned] : hold.tenant.money;
      for (const [account, part] of this.#draw(payers, amount)) this.#reserved(hold, account, part);
    }
    for (const budget of budgets) {
      if (!budget.removed && budget.onExceeded !== 'notify') this.#reserved(hold, budget, amount);
    }
    hold.held += amount;
    return null;
  }

  /** Releases an amount: charges in spending order, returns in reverse order. */
  #letGo(hold: Hold, amount: bigint, order: 'charge' | 'give back'): AmountsByAccount {
    const money = inSpendingOrder([...hold.amounts.keys()].filter((account) => account.what !== 'budget'));
    if (order === 'give back') money.reverse();
    const taken: AmountsByAccount = new Map();
    let missing = amount;
    for (const account of money) {
      const part = minBigint(missing, hold.amounts.get(account) ?? 0n);
      missing -= part;
      if (part > 0n) taken.set(account, part);
      this.#reserved(hold, account, -part);
    }
    for (const [account, part] of hold.amounts) {
      if (account.what === 'budget') this.#reserved(hold, account, -minBigint(part, amount));
    }
    hold.held -= amount;
    return taken;
  }

  #budgetsOfHold(hold: Hold): Budget[] {
    return hold.onlyBudget === null ? this.#budgetsOf(hold.tenant, hold.keyId) : [hold.onlyBudget];
  }

  #hold(tenant: Tenant, command: Of<'hold'>): Prediction {
    const known = this.holdsByKey.get(this.#key(command));
    if (known !== undefined) return this.#done(tenant, null, known, true);
    if (command.demand === 'new' && tenant.frozen) return refusedPrediction('ACCOUNT_FROZEN');
    const named = command.onlyBudgets?.[0];
    const onlyBudget = tenant.budgets.find(({ id, removed }) => !removed && id === named) ?? null;
    if (named !== undefined && onlyBudget === null) return refusedPrediction('BUDGET_NOT_FOUND');
    const hold: Hold = {
      id: null,
      tenant,
      keyId: command.keyId ?? null,
      onlyBudget,
      // A hold of zero is not a hold of earnings.
      ofEarnings: command.of === 'earnings' && command.amount > 0n,
      amounts: new Map(),
      held: 0n,
      posted: 0n,
      closed: false,
    };
    const rejected = this.#grow(hold, command.of === 'earnings' ? [] : this.#budgetsOfHold(hold), {
      more: command.amount,
      atLeast: command.atLeast ?? command.amount,
      demand: command.demand,
    });
    if (rejected !== null) return rejected;
    this.holdsByKey.set(this.#key(command), hold);
    return this.#done(tenant, null, hold);
  }

  #find(tenant: Tenant, holdId: string, of?: 'earnings'): Hold | null {
    const hold = this.holds.get(holdId);
    return hold?.tenant === tenant && hold.ofEarnings === (of === 'earnings') ? hold : null;
  }

  #bringTo(hold: Hold, target: bigint, atLeast: bigint, demand: 'new' | 'running'): Prediction | null {
    if (target <= hold.held) {
      this.#letGo(hold, hold.held - target, 'give back');
      return null;
    }
    return this.#grow(hold, this.#budgetsOfHold(hold), {
      more: target - hold.held,
      atLeast: maxBigint(0n, atLeast - hold.held),
      demand,
    });
  }

  #resize(tenant: Tenant, command: Of<'resize'>): Prediction {
    const hold = this.#find(tenant, command.holdId);
    if (hold === null) return refusedPrediction('HOLD_NOT_FOUND');
    if (hold.closed) return refusedPrediction('HOLD_CLOSED');
    if (command.target > hold.held && command.demand === 'new' && tenant.frozen)
      return refusedPrediction('ACCOUNT_FROZEN');
    const rejected = this.#bringTo(hold, command.target, command.atLeast ?? command.target, command.demand);
    return rejected ?? this.#done(tenant, null, hold);
  }

  #close(tenant: Tenant, command: Of<'close'>): Prediction {
    const hold = this.#find(tenant, command.holdId, command.of);
    if (hold === null) return refusedPrediction('HOLD_NOT_FOUND');
    const replayed = hold.closed;
    if (!replayed) this.#letGo(hold, hold.held, 'give back');
    hold.closed = true;
    return this.#done(tenant, null, hold, replayed);
  }

  #payOut(tenant: Tenant, command: Of<'pay_out'>): Prediction {
    const before = this.#before(tenant, command, 'payout', this.holds.get(command.holdId) ?? null);
    if (before !== null) return before;
    const hold = this.#find(tenant, command.holdId, 'earnings');
    if (hold === null) return refusedPrediction('HOLD_NOT_FOUND');
    if (hold.closed) return refusedPrediction('HOLD_CLOSED');
    const { held } = hold;
    this.#letGo(hold, held, 'charge');
    hold.posted = held;
    hold.closed = true;
    const legs: AmountsByAccount = new Map([
      [tenant.earned, -held],
      [this.systemAccount('payments_clearing', null, tenant.mode), held],
    ]);
    return this.#done(tenant, this.#enter(tenant, command, 'payout', legs, -held), hold);
  }

  #post(tenant: Tenant, command: Of<'post'>): Prediction {
    const before = this.#before(tenant, command, 'charge', this.holds.get(command.holdId) ?? null);
    if (before !== null) return before;
    const hold = this.#find(tenant, command.holdId);
    if (hold === null) return refusedPrediction('HOLD_NOT_FOUND');
    if (hold.closed) {
      // Repeats an earlier close without a charge.
      const same = command.amount === 0n && command.afterwards === 'close';
      return same ? this.#done(tenant, null, hold, true) : refusedPrediction('HOLD_CLOSED');
    }
    const transfer = command.amount === 0n ? null : this.#charge(tenant, hold, command);
    if (command.afterwards === 'close') {
      this.#letGo(hold, hold.held, 'give back');
      hold.closed = true;
    } else if (command.afterwards !== 'keep') {
      this.#bringTo(hold, command.afterwards.target, 0n, 'running');
    }
    return this.#done(tenant, transfer, hold);
  }

  #charge(tenant: Tenant, hold: Hold, command: Of<'post'>): Transfer {
    const budgets = this.#budgetsOf(tenant, command.keyId ?? hold.keyId);
    const fromHold = minBigint(command.amount, hold.held);
    const tight = this.#tightest(budgets, 'running');
    const beyond = command.amount - fromHold;
    const allowed = command.beyondHold === 'operator' ? 0n : beyond;
    const more = this.#draw(tenant.money, tight === null ? allowed : minBigint(allowed, tight.left));
    const legs: AmountsByAccount = new Map();
    for (const amounts of [this.#letGo(hold, fromHold, 'charge'), more]) {
      for (const [account, part] of amounts) bump(legs, account, -part);
    }
    const paid = fromHold + sum(more.values());
    const shortfall = command.amount - paid;
    bump(legs, this.systemAccount('shortfall', null, tenant.mode), -shortfall);
    for (const share of command.to) bump(legs, this.#account(share, tenant.mode), share.amount);
    this.#count(legs, budgets, paid);
    hold.posted += paid;
    const transfer = this.#enter(tenant, command, 'charge', legs, -paid, shortfall);
    this.#notify(budgets);
    return transfer;
  }

  /** The part of each leg that was not moved back yet. Budgets are left out: they keep their counts. */
  #left(source: Transfer): [Account, bigint][] {
    return [...source.legs]
      .filter(([account]) => account.what !== 'budget')
      .map(([account, by]): [Account, bigint] => [account, by + (source.undone.get(account) ?? 0n)])
      .sort(([a], [b]) => (a.id < b.id ? -1 : 1));
  }

  #refund(tenant: Tenant, command: Of<'refund'>): Prediction {
    const before = this.#before(tenant, command, 'refund');
    if (before !== null) return before;
    const source = this.transfersById.get(command.transferId);
    if (source?.tenant !== tenant) return refusedPrediction('TRANSFER_NOT_FOUND');
    const left = this.#left(source);
    const payers = left.filter(([{ what }]) => what === 'credit' || what === 'promo');
    const most = payers.reduce((total, [, by]) => total - by, 0n);
    if (source.kind !== 'charge') return refusedPrediction('TRANSFER_NOT_REVERSIBLE', 0n);
    if (source.reversed || command.amount === 0n || command.amount > most) {
      return refusedPrediction('TRANSFER_NOT_REVERSIBLE', most);
    }
    const legs: AmountsByAccount = new Map();
    let toGive: bigint = command.amount;
    // Refund paid credit first, then promotional credit, last spent first.
    const order = inSpendingOrder(payers.map(([account]) => account)).reverse();
    order.sort((a, b) => Number(b.what === 'credit') - Number(a.what === 'credit'));
    for (const account of order) {
      const owed = -(payers.find(([payer]) => payer === account)?.[1] ?? 0n);
      const given = minBigint(toGive, owed);
      bump(legs, account, given);
      toGive -= given;
    }
    const takers = left.filter(([, by]) => by > 0n);
    const shares = inProportion(
      command.amount,
      takers.map(([, by]) => by),
    );
    takers.forEach(([account], index) => bump(legs, account, -(shares[index] ?? 0n)));
    const transfer = this.#enter(tenant, command, 'refund', legs, command.amount);
    for (const [account, by] of legs) bump(source.undone, account, by);
    return this.#done(tenant, transfer);
  }

  #reverse(tenant: Tenant, command: Of<'reverse'>): Prediction {
    const before = this.#before(tenant, command, 'reversal');
    if (before !== null) return before;
    const source = this.transfersById.get(command.transferId);
    if (source?.tenant !== tenant) return refusedPrediction('TRANSFER_NOT_FOUND');
    const final = ['refund', 'reversal', 'budget', 'expiry'].includes(source.kind);
    if (final || source.reversed || source.undone.size > 0)
      return refusedPrediction('TRANSFER_NOT_REVERSIBLE');
    const entries = this.#left(source);
    for (const [account, by] of entries) {
      // A supplier's balance may become negative, a tenant's must not.
      if (account.what !== 'system' && account.what !== 'earned' && by > freeIn(account)) {
        return refusedPrediction('INSUFFICIENT_BALANCE', freeIn(account));
      }
    }
    const legs: AmountsByAccount = new Map(entries.map(([account, by]) => [account, -by]));
    const own = entries.filter(([{ what }]) => what === 'credit' || what === 'promo');
    const amount = own.reduce((total, [, by]) => total - by, 0n);
    const transfer = this.#enter(tenant, command, 'reversal', legs, amount);
    if (source.kind === 'clawback') tenant.owed -= source.shortfall;
    for (const [account, by] of legs) bump(source.undone, account, by);
    source.reversed = true;
    return this.#done(tenant, transfer);
  }

  #expire(tenant: Tenant, command: Of<'expire'>): Prediction {
    const before = this.#before(tenant, command, 'expiry');
    if (before !== null) return before;
    const account = tenant.money.find(({ name }) => name === this.promoNames.get(command.accountId));
    if (account?.expiresAtMs == null || account.expiresAtMs > this.nowMs) return this.#done(tenant);
    const amount = freeIn(account);
    if (amount === 0n) return this.#done(tenant);
    const legs: AmountsByAccount = new Map([
      [account, -amount],
      [this.systemAccount('grants', null, tenant.mode), amount],
    ]);
    return this.#done(tenant, this.#enter(tenant, command, 'expiry', legs, -amount));
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

/** Splits a total by weight; the remainder goes one by one to the shares that lost most by rounding. */
function inProportion(total: bigint, weights: readonly bigint[]): bigint[] {
  const whole = sum(weights);
  const shares = weights.map((weight) => (total * weight) / whole);
  const lost = weights.map((weight) => (total * weight) % whole);
  const order = weights.map((_, index) => index);
  order.sort((a, b) => {
    const [left = 0n, right = 0n] = [lost[a], lost[b]];
    return left > right ? -1 : left < right ? 1 : a - b;
  });
  let rest = total - sum(shares);
  for (const index of order) {
    if (rest === 0n) break;
    shares[index] = (shares[index] ?? 0n) + 1n;
    rest -= 1n;
  }
  return shares;
}
