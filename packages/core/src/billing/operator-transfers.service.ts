import type { Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { OrgId, TransferId } from '@millrace/platform/ids';
import { negateUsd, subtractUsd, zeroUsd, type NanoUsd } from '@millrace/platform/money';
import {
  appendAuditEntry,
  findOrganisation,
  type AuditedChange,
  type AuditContext,
} from '../identity/index.ts';
import {
  applyLedger,
  findAnyTransfer,
  findTransfer,
  readBalance,
  requireLedgerSuccess,
  setFrozen,
  setOverdraft,
  sumRefunds,
  type Balance,
  type LedgerSuccess,
  type LedgerCommand,
  type MoneyCause,
  type TransferRecord,
} from '../ledger/index.ts';
import type { ReadBurnRate } from './burn-rate.ts';
import { emitToppedUpEvent } from './deposits.service.ts';

/** Money operations of operators. Each is one transfer with its reason in the audit log, in one transaction. */

interface WithReason {
  /** For the audit log; the organisation's ledger shows only the description. */
  readonly reason: string;
}

export interface GrantRequest extends WithReason {
  readonly amount: NanoUsd;
  readonly promo?: { readonly priority: number; readonly expiresAt: Date | null };
  /** Makes the grant idempotent across requests; by default the request id. */
  readonly causeId?: string;
  readonly burnOf: ReadBurnRate;
}

export interface RefundRequest extends WithReason {
  readonly transferId: TransferId;
  readonly amount?: NanoUsd;
}

/** Operators change live money only: test mode is free. */
const mode = 'live';

/** Grants credit, promotional or equal to paid credit. */
export async function grantCredit(
  tx: Tx,
  cause: AuditContext,
  orgId: OrgId,
  request: GrantRequest,
): Promise<TransferRecord> {
  await requireOrganisation(tx, orgId);
  const { amount, promo, reason } = request;
  const done = await postCommand(tx, {
    do: 'credit',
    kind: 'grant',
    orgId,
    mode,
    cause: operatorCauseOfTransfer(tx, cause, request.causeId),
    step: 'grant',
    amount,
    from: [{ account: { kind: 'grants' }, amount }],
    ...(promo === undefined ? {} : { promo }),
    description: promo === undefined ? 'Credit from the operator' : 'Promotional credit from the operator',
  });
  if (!done.replayed) {
    const expiresAt = promo?.expiresAt?.toISOString() ?? null;
    const after = {
      amountNanoUsd: amount.toString(),
      ...(promo === undefined ? {} : { ...promo, expiresAt }),
    };
    await auditTransfer(tx, cause, orgId, done, { action: 'money.granted', after, reason });
    const { actor } = cause;
    await emitToppedUpEvent(tx, orgId, mode, { amount, source: 'grant', actor, burnOf: request.burnOf });
  }
  return requireTransfer(tx, orgId, done.transferId);
}

/** Corrects a balance up or down, never below its floor. */
export async function adjustBalance(
  tx: Tx,
  cause: AuditContext,
  orgId: OrgId,
  request: WithReason & { readonly amount: NanoUsd },
): Promise<TransferRecord> {
  await requireOrganisation(tx, orgId);
  const { amount, reason } = request;
  if (amount === 0n) throw new Fault('VALIDATION_FAILED', { issues: [zeroAdjustment] });
  const up = amount > 0n;
  const size = up ? amount : negateUsd(amount);
  const other = [{ account: { kind: 'adjustments' }, amount: size }] as const;
  const base = {
    kind: 'adjustment',
    orgId,
    mode,
    cause: operatorCauseOfTransfer(tx, cause),
    step: 'adjustment',
    amount: size,
    description: 'Correction by the operator',
  } as const;
  const done = await postCommand(
    tx,
    up ? { ...base, do: 'credit', from: other } : { ...base, do: 'debit', to: other, whenShort: 'refuse' },
  );
  const after = { amountNanoUsd: amount.toString() };
  await auditTransfer(tx, cause, orgId, done, { action: 'money.adjusted', after, reason });
  return requireTransfer(tx, orgId, done.transferId);
}

/** Refunds part of a charge; by default everything that is not refunded yet. */
export async function refundCharge(
  tx: Tx,
  cause: AuditContext,
  orgId: OrgId,
  request: RefundRequest,
): Promise<TransferRecord> {
  const { transferId, reason } = request;
  const charge = await findTransfer(tx, orgId, transferId);
  if (charge === null) throw new Fault('TRANSFER_NOT_FOUND');
  if (charge.kind !== 'charge') throw notRefundable();
  const amount = request.amount ?? (await unrefundedAmountOf(tx, charge));
  const done = await postCommand(tx, {
    do: 'refund',
    orgId,
    mode: charge.mode,
    cause: operatorCauseOfTransfer(tx, cause),
    step: 'refund',
    transferId,
    amount,
    description: `Refund: ${charge.description}`.slice(0, DESCRIPTION_MAX),
  });
  const after = { amountNanoUsd: amount.toString(), refunds: transferId };
  await auditTransfer(tx, cause, orgId, done, { action: 'money.refunded', after, reason });
  return requireTransfer(tx, orgId, done.transferId);
}

export async function reverseTransfer(
  tx: Tx,
  cause: AuditContext,
  transferId: TransferId,
  { reason }: WithReason,
): Promise<TransferRecord> {
  const transfer = await findAnyTransfer(tx, transferId);
  if (transfer === null) throw new Fault('TRANSFER_NOT_FOUND');
  const { orgId } = transfer;
  const done = await postCommand(tx, {
    do: 'reverse',
    orgId,
    mode: transfer.mode,
    cause: operatorCauseOfTransfer(tx, cause),
    step: 'reversal',
    transferId,
    description: `Reversal: ${transfer.description}`.slice(0, DESCRIPTION_MAX),
  });
  await auditTransfer(tx, cause, orgId, done, {
    action: 'money.reversed',
    after: { reverses: transferId },
    reason,
  });
  return requireTransfer(tx, orgId, done.transferId);
}

export async function setMaxOverdraft(
  tx: Tx,
  cause: AuditContext,
  orgId: OrgId,
  { overdraft, reason }: WithReason & { readonly overdraft: NanoUsd },
): Promise<Balance> {
  await requireOrganisation(tx, orgId);
  const before = await readBalance(tx, orgId, mode, tx.clock.now());
  await openAccount(tx, cause, orgId);
  if (!(await setOverdraft(tx, orgId, mode, overdraft))) throw new Fault('OVERDRAFT_IN_USE');
  await appendAuditEntry(tx, orgId, cause, {
    action: 'money.overdraft_set',
    resource: { kind: 'balance', id: orgId },
    before: { maxOverdraftNanoUsd: before.overdraft.toString() },
    after: { maxOverdraftNanoUsd: overdraft.toString() },
    reason,
  });
  return readBalance(tx, orgId, mode, tx.clock.now());
}

/** Admits new work again. Idempotent. */
export async function unfreezeAccount(
  tx: Tx,
  cause: AuditContext,
  orgId: OrgId,
  { reason }: WithReason,
): Promise<Balance> {
  await requireOrganisation(tx, orgId);
  const before = await readBalance(tx, orgId, mode, tx.clock.now());
  if (!before.frozen) return before;
  await setFrozen(tx, orgId, mode, false);
  await appendAuditEntry(tx, orgId, cause, {
    action: 'money.unfrozen',
    resource: { kind: 'balance', id: orgId },
    before: { frozen: true },
    after: { frozen: false },
    reason,
  });
  return readBalance(tx, orgId, mode, tx.clock.now());
}

const DESCRIPTION_MAX = 500;

const zeroAdjustment = {
  message: 'must not be zero',
  path: ['amountNanoUsd'],
  code: 'zero_amount',
};

/** Each request is a separate cause. The idempotency key deduplicates repeated requests. */
function operatorCauseOfTransfer(tx: Tx, cause: AuditContext, causeId?: string): MoneyCause {
  return { kind: 'operator', id: causeId ?? cause.requestId ?? tx.ids.next('req') };
}

async function postCommand(tx: Tx, command: LedgerCommand): Promise<LedgerSuccess> {
  const [result] = await applyLedger(tx, [command]);
  return requireLedgerSuccess(result);
}

/** A zero credit opens the account and posts nothing. */
async function openAccount(tx: Tx, cause: AuditContext, orgId: OrgId): Promise<void> {
  await postCommand(tx, {
    do: 'credit',
    kind: 'adjustment',
    orgId,
    mode,
    cause: operatorCauseOfTransfer(tx, cause),
    step: 'open',
    amount: zeroUsd,
    from: [],
    description: 'Account opened',
  });
}

/** If another refund is posted meanwhile, the ledger refuses this one. */
async function unrefundedAmountOf(tx: Tx, charge: TransferRecord): Promise<NanoUsd> {
  const left = subtractUsd(negateUsd(charge.amount), await sumRefunds(tx, charge.orgId, charge.id));
  if (left <= 0n) throw notRefundable();
  return left;
}

function notRefundable(): Fault {
  return new Fault('TRANSFER_NOT_REVERSIBLE', {
    message: 'This transfer is not a charge, or it has already been refunded in full.',
  });
}

async function auditTransfer(
  tx: Tx,
  cause: AuditContext,
  orgId: OrgId,
  done: LedgerSuccess,
  change: Omit<AuditedChange, 'resource'>,
): Promise<void> {
  if (done.transferId === null) throw new Error('An operator transfer moved no money.');
  await appendAuditEntry(tx, orgId, cause, {
    ...change,
    resource: { kind: 'transfer', id: done.transferId },
  });
}

async function requireOrganisation(tx: Tx, orgId: OrgId): Promise<void> {
  if ((await findOrganisation(tx, orgId)) === null) throw new Fault('ORGANISATION_NOT_FOUND');
}

async function requireTransfer(tx: Tx, orgId: OrgId, id: TransferId | null): Promise<TransferRecord> {
  const transfer = id === null ? null : await findTransfer(tx, orgId, id);
  if (transfer === null) throw new Error('A transfer that was just posted cannot be read.');
  return transfer;
}
