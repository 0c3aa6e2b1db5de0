import type { Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { PayoutId } from '@millrace/platform/ids';
import { divideRoundUp, formatUsd, subtractUsd, zeroUsd, type NanoUsd } from '@millrace/platform/money';
import {
  appendAuditEntry,
  authorizeCaller,
  type AuditContext,
  type CallContext,
} from '../../identity/index.ts';
import {
  applyLedger,
  readEarned,
  requireLedgerSuccess,
  type LedgerSuccess,
  type LedgerCommand,
} from '../../ledger/index.ts';
import { sumMaturing } from './earnings.store.ts';
import {
  payableAmount,
  PAYOUTS_WAITING_MAX,
  payoutSettlementAction,
  type Payout,
  type PayoutOutcome,
} from './payouts.ts';
import { insertPayout, lockAnyPayout, setPayoutSettled, sumPayouts } from './payouts.store.ts';
import { findSupplierOf } from '../account/suppliers.store.ts';

/**
 * Suppliers request payouts, operators settle them. One transaction changes the payout and its money. Lock order:
 * organisation or payout, then the ledger's accounts.
 */

const commandBase = (payout: Pick<Payout, 'id' | 'orgId'>, step: 'request' | 'settle') =>
  ({ orgId: payout.orgId, mode: 'live', cause: { kind: 'payout', id: payout.id }, step }) as const;

/**
 * Holds the amount. Suspended suppliers may also request, because their earnings are owed. Earnings are live
 * money, so only live keys can request.
 */
export async function requestPayout(
  tx: Tx,
  call: CallContext,
  amount: NanoUsd,
  { holdMs }: { readonly holdMs: number },
): Promise<Payout> {
  const { key } = await authorizeCaller(tx, call, 'supplier:write');
  const supplier = await findSupplierOf(tx, call.orgId);
  if (supplier === null) throw new Fault('SUPPLIER_NOT_APPROVED');
  const { waiting } = await sumPayouts(tx, call.orgId);
  if (waiting >= PAYOUTS_WAITING_MAX) throw new Fault('PAYOUT_LIMIT_REACHED');
  const id = tx.ids.next('pyo');
  const held = await holdPayoutAmount(tx, { id, orgId: call.orgId }, amount, holdMs);
  if (held.holdId === null) throw new Error('The ledger returned no hold for a payout.');
  const payout: Payout = {
    id,
    supplierId: supplier.id,
    supplierName: supplier.name,
    orgId: call.orgId,
    amount,
    status: 'requested',
    reference: null,
    reason: null,
    holdId: held.holdId,
    transferId: null,
    requestedBy: key.userId,
    requestedAt: tx.clock.now(),
    settledAt: null,
  };
  await insertPayout(tx, call.orgId, payout);
  await appendAuditEntry(tx, call.orgId, call.cause, {
    action: 'payout.requested',
    resource: { kind: 'payout', id },
    after: { amountNanoUsd: amount.toString() },
  });
  return payout;
}

/**
 * Refuses amounts earned within the holding period: a tenant's payment can still be disputed, and a payout cannot be
 * recalled. The hold locks the earnings account, so that balance and earnings do not change between the reads below.
 */
async function holdPayoutAmount(
  tx: Tx,
  payout: Pick<Payout, 'id' | 'orgId'>,
  amount: NanoUsd,
  holdMs: number,
): Promise<LedgerSuccess> {
  const [result] = await applyLedger(tx, [
    { ...commandBase(payout, 'request'), do: 'hold', of: 'earnings', amount, demand: 'new' },
  ]);
  const isRefused = result?.ok === false && result.reason === 'INSUFFICIENT_BALANCE';
  const done = isRefused ? null : requireLedgerSuccess(result);
  const { balance, held } = await readEarned(tx, payout.orgId, 'live');
  const heldBefore = done === null ? held : subtractUsd(held, amount);
  const maturing = await sumMaturing(tx, payout.orgId, { now: tx.clock.now(), holdMs });
  const payable = payableAmount({ balance, held: heldBefore }, maturing);
  if (done === null || (maturing > zeroUsd && amount > payable))
    throw exceedsEarningsFault(payable, maturing, holdMs);
  return done;
}

function exceedsEarningsFault(payable: NanoUsd, maturing: NanoUsd, holdMs: number): Fault {
  const days = divideRoundUp(BigInt(holdMs), DAY_MS);
  const message =
    maturing === zeroUsd
      ? `The payout exceeds the payable amount of ${formatUsd(payable)} USD.`
      : `${formatUsd(payable)} USD is payable now. ${formatUsd(maturing)} USD was earned in the last ${days} days and is payable later.`;
  return new Fault('PAYOUT_EXCEEDS_EARNINGS', { message });
}

const DAY_MS = 86_400_000n;

export interface PayoutSettlement {
  readonly outcome: PayoutOutcome;
  readonly reference: string | null;
  readonly reason: string;
}

/** Idempotent for the same outcome. */
export async function settlePayout(
  tx: Tx,
  cause: AuditContext,
  id: PayoutId,
  settlement: PayoutSettlement,
): Promise<Payout> {
  const payout = await lockAnyPayout(tx, id);
  if (payout === null) throw new Fault('PAYOUT_NOT_FOUND');
  const { outcome } = settlement;
  switch (payoutSettlementAction(payout.status, outcome)) {
    case 'done':
      return payout;
    case 'conflict':
      throw new Fault('PAYOUT_SETTLED', { message: `This payout was already settled as ${payout.status}.` });
    case 'settle':
  }
  const [result] = await applyLedger(tx, [settlingCommand(payout, outcome)]);
  const { transferId } = requireLedgerSuccess(result);
  const settled = { ...settlement, transferId, at: tx.clock.now() };
  await setPayoutSettled(tx, payout.orgId, id, settled);
  const { reference, reason } = settlement;
  await appendAuditEntry(tx, payout.orgId, cause, {
    action: `payout.${outcome}`,
    resource: { kind: 'payout', id },
    before: { status: payout.status },
    after: { status: outcome, amountNanoUsd: payout.amount.toString(), reference },
    reason,
  });
  return { ...payout, status: outcome, reference, reason, transferId, settledAt: settled.at };
}

function settlingCommand(payout: Payout, outcome: PayoutOutcome): LedgerCommand {
  const { holdId } = payout;
  return outcome === 'paid'
    ? { ...commandBase(payout, 'settle'), do: 'pay_out', holdId, description: `Payout ${payout.id}` }
    : { ...commandBase(payout, 'settle'), do: 'close', of: 'earnings', holdId };
}
