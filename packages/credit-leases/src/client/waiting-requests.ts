import type { BudgetId } from '@millrace/platform/ids';

export interface WaitingRequest {
  readonly amount: bigint;
  readonly budgets: readonly BudgetId[];
}

/** The total amounts of all requests that wait for a lease. */
export class WaitingTotals {
  count = 0;
  wanted = 0n;
  readonly #ofBudgets = new Map<BudgetId, bigint>();

  add({ amount, budgets }: WaitingRequest): void {
    this.count += 1;
    this.wanted += amount;
    for (const id of budgets) this.#ofBudgets.set(id, this.wantedOf(id) + amount);
  }

  remove({ amount, budgets }: WaitingRequest): void {
    this.count -= 1;
    this.wanted -= amount;
    for (const id of budgets) {
      const left = this.wantedOf(id) - amount;
      if (left > 0n) this.#ofBudgets.set(id, left);
      else this.#ofBudgets.delete(id);
    }
  }

  wantedOf(budget: BudgetId): bigint {
    return this.#ofBudgets.get(budget) ?? 0n;
  }
}
