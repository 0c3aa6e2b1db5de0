import type { BudgetId } from '@millrace/platform/ids';

/** A request that waits for money, and for the budgets that it counts against. */
export interface WaitingRequest {
  readonly amount: bigint;
  readonly budgets: readonly BudgetId[];
}

/** What all requests that wait for a lease would like together. */
export interface WaitingTotals {
  add(request: WaitingRequest): void;
  remove(request: WaitingRequest): void;
  readonly count: () => number;
  readonly wanted: () => bigint;
  readonly wantedOf: (budget: BudgetId) => bigint;
}

export function createWaitingTotals(): WaitingTotals {
  let count = 0;
  let wanted = 0n;
  const ofBudgets = new Map<BudgetId, bigint>();
  return {
    add({ amount, budgets }) {
      count += 1;
      wanted += amount;
      for (const id of budgets) ofBudgets.set(id, (ofBudgets.get(id) ?? 0n) + amount);
    },
    remove({ amount, budgets }) {
      count -= 1;
      wanted -= amount;
      for (const id of budgets) {
        const left = (ofBudgets.get(id) ?? 0n) - amount;
        if (left > 0n) ofBudgets.set(id, left);
        else ofBudgets.delete(id);
      }
    },
    count: () => count,
    wanted: () => wanted,
    wantedOf: (budget) => ofBudgets.get(budget) ?? 0n,
  };
}
