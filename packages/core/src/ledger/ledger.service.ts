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
 * Carries out the commands in order and answers one result for each; a refused one changes nothing and does not disturb
 * the others. The same cause and step happen once, whoever asks and however often. A batch takes as many round trips as
 * a single command.
 *
 * The accounts are locked until the transaction ends, in the order of their ids: call this once in a transaction, after
 * every other row that you lock.
 */
export async function applyLedger(tx: Tx, commands: readonly LedgerCommand[]): Promise<LedgerResult[]> {
  if (commands.length === 0) return [];
  for (const command of commands) requireNonNegative(command);
  let slice = await loadWorkingSet(tx, commands);
  let results = commands.map((command) => applyCommand(slice, command));
  // What was refused, or moved nothing, is entered nowhere, so no constraint can tell that the same happened while we
  // waited for the locks. Now that they are held, a second look is the last word.
  if (await isAnyKeyRecorded(tx, unrecordedKeysOf(slice, commands))) {
    slice = await loadWorkingSet(tx, commands);
    results = commands.map((command) => applyCommand(slice, command));
  }
  await writeWorkingSet(tx, slice);
  for (const notice of slice.notices) await emitBudgetEvents(tx, slice, notice);
  return results;
}

/** Negative amounts would turn a charge into a gift. No caller means that, so it is an error and not a refusal. */
function requireNonNegative(command: LedgerCommand): void {
  const negative =
    ('amount' in command && command.amount < 0n) ||
    (command.do === 'resize' && command.target < 0n) ||
    (command.do === 'post' && typeof command.afterwards === 'object' && command.afterwards.target < 0n);
  if (negative) throw new RangeError(`A ledger command must not have a negative amount: ${command.do}.`);
  if (command.cause.kind.includes(':')) throw new RangeError('The kind of a cause must not hold a colon.');
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

/**
 * Returns a successful result, and throws any other as an error for the caller. If `wanted` is given, the error for too little
 * balance says how much money was missing.
 */
export function requireLedgerSuccess(result: LedgerResult | undefined, wanted?: bigint): LedgerSuccess {
  if (result === undefined) throw new Error('The ledger answered nothing.');
  if (result.ok) return result;
  const { reason, available } = result;
  const has = available === null ? '' : ` ${formatUsd(nanoUsd(available))} USD could have been had.`;
  switch (reason) {
    case 'INSUFFICIENT_BALANCE':
      throw new Fault('INSUFFICIENT_BALANCE', {
        message: `The available balance does not cover what this request would take.${has}`,
        ...(wanted === undefined ? {} : { cause: new InsufficientFundsError(wanted - (available ?? 0n)) }),
      });
    case 'BUDGET_EXCEEDED':
      throw new Fault('BUDGET_EXCEEDED', {
        message: `A budget of this key or organisation leaves too little for this request.${has}`,
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

/** A refusal that no caller can repair: a mistake in the code or in the ledger. A retry changes nothing. */
export class LedgerError extends Error {
  override readonly name = 'LedgerError';
  constructor(reason: string) {
    super(`The ledger refused with ${reason}, which only a mistake in the code can bring about.`);
  }
}
