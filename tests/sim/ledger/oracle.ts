import {
  bump,
  refusedPrediction,
  sum,
  OracleState,
  type AmountsByAccount,
  type Of,
  type Prediction,
} from './oracle-state.ts';
import { applyHold, applyResize, applyClose, applyPayOut, applyPost } from './oracle-holds.ts';
import { applyRefund, applyReverse, applyExpire } from './oracle-reversals.ts';
import type { LedgerCommand } from '@millrace/core/ledger';
import { freeIn, minBigint, maxBigint, type Tenant } from './accounts.ts';

export type { Prediction } from './oracle-state.ts';

/** Simplified in-memory model of the ledger: applies commands one by one to plain numbers. It shares only types with the ledger. */
export class Oracle extends OracleState {
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
        return applyHold(this, tenant, command);
      case 'resize':
        return applyResize(this, tenant, command);
      case 'post':
        return applyPost(this, tenant, command);
      case 'close':
        return applyClose(this, tenant, command);
      case 'pay_out':
        return applyPayOut(this, tenant, command);
      case 'refund':
        return applyRefund(this, tenant, command);
      case 'reverse':
        return applyReverse(this, tenant, command);
      case 'expire':
        return applyExpire(this, tenant, command);
      case 'limit':
        throw new Error('Budgets are changed through their own functions.');
    }
  }

  #credit(tenant: Tenant, command: Of<'credit'>): Prediction {
    const before = this.before(tenant, command, command.kind);
    if (before !== null) return before;
    if (command.amount === 0n) return this.done(tenant);
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
      bump(legs, this.account(share, tenant.mode), -given);
    }
    return this.done(tenant, this.enter(tenant, command, command.kind, legs, command.amount));
  }

  /** Clawbacks take paid credit first, regardless of the spending order. */
  #takeBackFrom(tenant: Tenant, amount: bigint): AmountsByAccount {
    const paid = this.draw([tenant.credit], amount);
    const gifts = tenant.money.filter((account) => account !== tenant.credit);
    return new Map([...paid, ...this.draw(gifts, amount - sum(paid.values()))]);
  }

  #debit(tenant: Tenant, command: Of<'debit'>): Prediction {
    const before = this.before(tenant, command, command.kind);
    if (before !== null) return before;
    if (command.amount === 0n) return this.done(tenant);
    const budgets = command.kind === 'charge' ? this.budgetsOf(tenant, command.keyId ?? null) : [];
    const payout = command.kind === 'payout';
    const money = payout ? freeIn(tenant.earned) : this.free(tenant);
    const tight = this.tightest(budgets, 'new');
    const affordable = tight === null ? money : minBigint(money, tight.left);
    if (command.whenShort === 'refuse' && affordable < command.amount) {
      if (money < command.amount || tight === null) return refusedPrediction('INSUFFICIENT_BALANCE', money);
      return refusedPrediction('BUDGET_EXCEEDED', tight.left, tight.budget.id);
    }
    const wanted = minBigint(command.amount, affordable);
    const amounts =
      command.kind === 'clawback'
        ? this.#takeBackFrom(tenant, wanted)
        : this.draw(payout ? [tenant.earned] : tenant.money, wanted);
    const paid = sum(amounts.values());
    const shortfall = command.amount - paid;
    const legs: AmountsByAccount = new Map();
    for (const [account, part] of amounts) bump(legs, account, -part);
    bump(legs, this.systemAccount('shortfall', null, tenant.mode), -shortfall);
    for (const share of command.to) bump(legs, this.account(share, tenant.mode), share.amount);
    this.count(legs, budgets, paid);
    const transfer = this.enter(tenant, command, command.kind, legs, -paid, shortfall);
    if (command.kind === 'clawback') tenant.owed += shortfall;
    this.notify(budgets);
    return this.done(tenant, transfer);
  }
}
