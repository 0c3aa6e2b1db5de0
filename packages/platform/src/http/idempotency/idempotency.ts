import type { ResponseBody, Operation } from '@millrace/contract';
import type { Timer } from '../../clock/index.ts';
import { confirmReads, type Db, type TransactionOptions, type Tx } from '../../db/index.ts';
import type { Actor, Mode } from '../../envelope/index.ts';
import { Fault } from '../../fault/index.ts';
import type { OrgId } from '../../ids/index.ts';
import { claimKey, findOperationByKey, reclaimExpiredKey, storeResponse } from './idempotency.store.ts';
import type { KeyClaim, StoredOperation } from './idempotency.store.ts';
import { Reply } from '../response/reply.ts';

/** How long a response can be replayed. */
export const idempotencyRetentionMs = 30 * 24 * 60 * 60 * 1_000;
/** How long a duplicate waits for the first request before it is refused. */
export const duplicateWaitMs = 2_000;

const firstPauseMs = 10;
const maxPauseMs = 200;

export interface IdempotentRequest {
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly actor: Actor;
  readonly key: string;
  readonly hash: Buffer;
}

/** The result of an idempotent effect: the response, and the resource that it created or changed. */
export interface OperationResult<Op extends Operation> {
  readonly body: ResponseBody<Op>;
  readonly headers?: Readonly<Record<string, string>>;
  /** The created or changed resource, for `GET /v2/operations`. */
  readonly resource?: { readonly kind: string; readonly id: string };
}

type AttemptOutcome<Op extends Operation> =
  | { readonly kind: 'busy' }
  | { readonly kind: 'replay'; readonly stored: StoredOperation }
  | { readonly kind: 'fresh'; readonly effect: OperationResult<Op>; readonly id: string };

/**
 * Runs an effect at most once per idempotency key. Claim, effect and stored response are one transaction, so a crash or
 * a refusal leaves nothing. A duplicate releases its connection before it waits, so many duplicates cannot exhaust the
 * pool.
 */
export async function runIdempotent<Op extends Operation>(
  db: Db,
  clock: Timer,
  operation: Op,
  request: IdempotentRequest,
  options: TransactionOptions,
  work: (tx: Tx) => Promise<OperationResult<Op>>,
): Promise<Reply<ResponseBody<Op>>> {
  const startedMs = clock.monotonicMs();
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    const outcome = await db.transaction(options, (tx) => attempt(tx, operation, request, work));
    switch (outcome.kind) {
      case 'fresh':
        return new Reply(outcome.effect.body, { ...outcome.effect.headers, 'operation-id': outcome.id });
      case 'replay':
        // Safe: the stored body is an earlier response of this operation without its secrets.
        return new Reply(outcome.stored.body as ResponseBody<Op>, {
          'idempotent-replayed': 'true',
          'operation-id': outcome.stored.id,
        });
      case 'busy': {
        const leftMs = duplicateWaitMs - (clock.monotonicMs() - startedMs);
        if (leftMs <= 0) throw new Fault('IDEMPOTENCY_IN_PROGRESS', { retryAfterSeconds: 1 });
        await clock.sleep(Math.min(pauseMs, leftMs));
      }
    }
  }
}

async function attempt<Op extends Operation>(
  tx: Tx,
  operation: Op,
  request: IdempotentRequest,
  work: (tx: Tx) => Promise<OperationResult<Op>>,
): Promise<AttemptOutcome<Op>> {
  const { orgId, key } = request;
  const now = tx.clock.now();
  const claim: KeyClaim = {
    id: tx.ids.next('op'),
    idempotencyKey: key,
    operation: operation.id,
    requestHash: request.hash,
    mode: request.mode,
    actor: request.actor,
    createdAt: now,
    expiresAt: new Date(now.getTime() + idempotencyRetentionMs),
  };
  // Keys are nearly always new, so claim first and read only if the claim fails.
  if (!(await claimKey(tx, orgId, claim))) {
    const stored = await findOperationByKey(tx, orgId, key);
    if (stored === null) return { kind: 'busy' };
    if (stored.expiresAt > now) {
      if (!stored.requestHash.equals(request.hash)) throw new Fault('IDEMPOTENCY_KEY_REUSED');
      // The stored row may be on this server alone, if its commit stopped waiting for a standby.
      await confirmReads(tx);
      return { kind: 'replay', stored };
    }
    if (!(await reclaimExpiredKey(tx, orgId, claim))) return { kind: 'busy' };
  }
  const effect = await work(tx);
  await storeResponse(tx, orgId, key, {
    status: operation.response.status,
    body: withoutSecrets(effect.body, operation.redactForReplay ?? []),
    resource: effect.resource ?? null,
  });
  return { kind: 'fresh', effect, id: claim.id };
}

/** Replaces secret fields by null, because a secret that is shown once must never be stored. */
export function withoutSecrets(body: unknown, secretFields: readonly string[]): unknown {
  if (secretFields.length === 0 || typeof body !== 'object' || body === null) return body;
  const copy: Record<string, unknown> = { ...body };
  for (const field of secretFields) if (Object.hasOwn(copy, field)) copy[field] = null;
  return copy;
}

const keyPattern = /^[\u0021-\u007e](?:[\u0020-\u007e]{0,253}[\u0021-\u007e])?$/;

/** Returns the header as a key; undefined if it was not sent. */
export function readIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (!keyPattern.test(header)) {
    throw new Fault('IDEMPOTENCY_KEY_INVALID', {
      issues: [
        {
          message: 'must be 1 to 255 printable ASCII characters',
          path: ['Idempotency-Key'],
          code: 'invalid_format',
          location: 'header',
        },
      ],
    });
  }
  return header;
}
