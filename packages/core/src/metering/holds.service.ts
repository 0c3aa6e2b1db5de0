import type { Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { Fault } from '@millrace/platform/fault';
import type { HoldId, KeyId, OrgId } from '@millrace/platform/ids';
import { formatUsd, meteredTotal, zeroUsd, type NanoUsd } from '@millrace/platform/money';
import {
  applyLedger,
  InsufficientFundsError,
  requireLedgerSuccess,
  type LedgerCommand,
  type LedgerResult,
  type MoneyCause,
} from '../ledger/index.ts';

/** Places holds for resources before their meters are opened, or for their retention. */

/** A resource that is sold by the hour, as its holds and meters identify it. The key's budgets apply. */
export interface BilledResource {
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly cause: MoneyCause;
  readonly keyId: KeyId | null;
}

type HoldRequest = Pick<
  LedgerCommand & { readonly do: 'hold' },
  'step' | 'amount' | 'atLeast' | 'demand' | 'of'
>;

export async function holdFor(
  tx: Tx,
  { keyId, ...resource }: BilledResource,
  request: HoldRequest,
): Promise<LedgerResult | undefined> {
  const key = keyId === null ? {} : { keyId };
  const [result] = await applyLedger(tx, [{ do: 'hold', ...resource, ...request, ...key }]);
  return result;
}

/** Returns null if the order is free; the error has the missing amount. */
export async function holdForOrder(
  tx: Tx,
  resource: BilledResource,
  request: Omit<HoldRequest, 'demand'>,
): Promise<HoldId | null> {
  const { amount } = request;
  if (amount === zeroUsd) return null;
  const result = await holdFor(tx, resource, { ...request, demand: 'new' });
  if (result?.ok === false && result.reason === 'INSUFFICIENT_BALANCE') {
    throw insufficientBalance(amount, result.available ?? 0n, request.of);
  }
  return requireLedgerSuccess(result).holdId;
}

export function insufficientBalance(hold: NanoUsd, available: bigint, of?: HoldRequest['of']): Fault {
  const what =
    of === 'paid' ? 'paid balance (without promotional credit, which cannot pay suppliers)' : 'balance';
  return new Fault('INSUFFICIENT_BALANCE', {
    message: `The available ${what} does not cover the ${formatUsd(hold)} USD hold for this request.`,
    cause: new InsufficientFundsError(hold - available),
  });
}

/** Holds the cost of retention, as much as is available, even if new work is refused. */
export async function holdForRetention(
  tx: Tx,
  resource: BilledResource,
  {
    name,
    ratePerHour,
    forMs,
  }: { readonly name: string; readonly ratePerHour: NanoUsd; readonly forMs: number },
): Promise<{ readonly holdId: HoldId; readonly held: NanoUsd }> {
  const amount = meteredTotal(ratePerHour, forMs);
  const request = { step: `keep:${name}`, amount, atLeast: zeroUsd, demand: 'running' } as const;
  const { holdId, held } = requireLedgerSuccess(await holdFor(tx, resource, request));
  const { kind, id } = resource.cause;
  if (holdId === null) throw new Error(`No hold could be placed for the retention of ${kind} ${id}.`);
  return { holdId, held };
}
