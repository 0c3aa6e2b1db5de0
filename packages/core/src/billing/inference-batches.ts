import { fromUuid, parseId, toUuid, type BatchId, type RequestId } from '@millrace/platform/ids';
import type { MoneyCause } from '../ledger/index.ts';

/**
 * Ledger lines of inference sum several requests. The ledger stores the first request of a line as its cause; a request is charged
 * once, so the same 128 bits also identify the batch. Callers see the batch: the line is not the cost of that one request.
 */

export function batchOf(firstRequest: RequestId): BatchId {
  return fromUuid('bat', toUuid(firstRequest));
}

export function firstRequestOf(batch: BatchId): RequestId {
  return fromUuid('req', toUuid(batch));
}

/** The cause of a ledger line as callers see it. */
export function publicCause({ kind, id }: MoneyCause): MoneyCause {
  const request = kind === 'inference' ? parseId('req', id) : null;
  return { kind, id: request === null ? id : batchOf(request) };
}

/** The stored id of a cause that a caller names. */
export function storedCauseId(kind: string, id: string): string {
  const batch = kind === 'inference' ? parseId('bat', id) : null;
  return batch === null ? id : firstRequestOf(batch);
}
