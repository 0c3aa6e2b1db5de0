import type { Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import { fromUuid } from '@millrace/platform/ids';
import { formatUsd, nanoUsd } from '@millrace/platform/money';
import { appendOutbox } from '@millrace/platform/outbox';
import { applyCommand } from './batch/apply-command.ts';
import { isAnyKeyRecorded } from './batch/recorded.store.ts';
import type { LedgerSuccess, LedgerCommand, LedgerResult } from './model/ledger.ts';
import { loadWorkingSet } from './batch/load.store.ts';
import { InsufficientFundsError } from './recalled-credit.ts';
import { unrecordedKeysOf, type BudgetNotice, type WorkingSet } from './batch/working-set.ts';
import { writeWorkingSet } from './batch/write.store.ts';

/**
 * Applies the commands in order and returns one result for each; a refused command changes nothing and does not affect
 * the others. A cause and step are applied once, however often they are repeated. A batch needs as many round trips as
 * one command.
 *
 * The accounts stay locked, in the order of their ids, until the transaction ends. Call it once per transaction, after
 * all other rows are locked.
 */
export async function applyLedger(tx: Tx, commands: readonly LedgerCommand[]): Promise<LedgerResult[]> {
  if (commands.length === 0) return [];
  for (const command of commands) requireNonNegative(command);
  let slice = await loadWorkingSet(tx, commands);
  let results = commands.map((command) => applyCommand(slice, command));
  // Refused commands and commands that move no money write no row, so no constraint detects that another transaction
  // used their keys during the wait for the locks. Under the locks this second look-up is final.
  if (await isAnyKeyRecorded(tx, unrecordedKeysOf(slice, commands))) {
    slice = await loadWorkingSet(tx, commands);
    results = commands.map((command) => applyCommand(slice, command));
  }
  await writeWorkingSet(tx, slice);
  for (const notice of slice.notices) await emitBudgetEvents(tx, slice, notice);
  return results;
}

/** A negative amount would turn a charge into a gift. Only a bug can cause it, so it throws instead of refusing. */
function requireNonNegative(command: LedgerCommand): void {
  const negative =
    ('amount' in command && command.amount < 0n) ||
    (command.do === 'resize' && command.target < 0n) ||
    (command.do === 'post' && typeof command.afterwards === 'object' && command.afterwards.target < 0n);
  if (negative) throw new RangeError(`A ledger command must not have a negative amount: ${command.do}.`);
  if (command.cause.kind.includes(':')) throw new RangeError('The kind of a cause must not contain a colon.');
}

async function emitBudgetEvents(tx: Tx, slice: WorkingSet, notice: BudgetNotice): Promise<void> {
  const { budget } = notice.limit;
  if (budget === null) return;
  const budgetId = fromUuid('bdg', notice.limit.id);
  const iso = (ms: number): string => new Date(ms).toISOString();
  const data = {
    budgetId,
    name: budget.name,
    limitNanoUsd: String(budget.limit),
    spentNanoUsd: String(budget.limit - notice.limit.balance),
    periodStart: iso(budget.periodStartMs),
    periodEnd: budget.periodEndMs === null ? null : iso(budget.periodEndMs),
  };
  const entry = {
    kind: 'event',
    orgId: fromUuid('org', notice.orgId),
    mode: notice.mode,
    resource: { kind: 'budget', id: budgetId },
    actor: { kind: 'system', id: 'ledger' },
    occurredAt: new Date(slice.nowMs),
  } as const;
  const { thresholdPercent } = notice;
  if (budget.thresholdsPercent.includes(thresholdPercent)) {
    await appendOutbox(tx, { ...entry, type: 'budget.threshold', data: { ...data, thresholdPercent } });
  }
  if (thresholdPercent === 100) await appendOutbox(tx, { ...entry, type: 'budget.exceeded', data });
}

/** Returns a success and throws a refusal. With `wanted`, the error for a low balance has the missing amount. */
export function requireLedgerSuccess(result: LedgerResult | undefined, wanted?: bigint): LedgerSuccess {
  if (result === undefined) throw new Error('The ledger returned no result.');
  if (result.ok) return result;
  const { reason, available } = result;
  const has = available === null ? '' : ` Available: ${formatUsd(nanoUsd(available))} USD.`;
  switch (reason) {
    case 'INSUFFICIENT_BALANCE':
      throw new Fault('INSUFFICIENT_BALANCE', {
        message: `The available balance does not cover this request.${has}`,
        ...(wanted === undefined ? {} : { cause: new InsufficientFundsError(wanted - (available ?? 0n)) }),
      });
    case 'BUDGET_EXCEEDED':
      throw new Fault('BUDGET_EXCEEDED', {
        message: `The remaining budget of this key or organisation does not cover this request.${has}`,
      });
    case 'ACCOUNT_FROZEN':
    case 'TRANSFER_NOT_FOUND':
    case 'TRANSFER_NOT_REVERSIBLE':
    case 'BUDGET_NOT_FOUND':
      throw new Fault(reason);
    case 'HOLD_NOT_FOUND':
    case 'HOLD_CLOSED':
    case 'STEP_REUSED':
      throw new LedgerError(reason);
  }
}

/** A refusal that only a bug in the code or the ledger can cause, so a retry does not help. */
export class LedgerError extends Error {
  override readonly name = 'LedgerError';
  constructor(reason: string) {
    super(`The ledger refused with ${reason}. This is a bug: a valid command never causes it.`);
  }
}
