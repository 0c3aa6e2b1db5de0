import type { ResponseBody, Operation } from '@millrace/contract';
import type { Timer } from '../../clock/index.ts';
import type { Db, TransactionOptions, Tx } from '../../db/index.ts';
import type { Actor, Mode } from '../../envelope/index.ts';
import { Fault } from '../../fault/index.ts';
import type { OrgId } from '../../ids/index.ts';
import { claimKey, findOperationByKey, reclaimExpiredKey, storeResponse } from './idempotency.store.ts';
import type { KeyClaim, StoredOperation } from './idempotency.store.ts';
import { Reply } from '../response/reply.ts';

/** How long an answer can be replayed. */
export const idempotencyRetentionMs = 30 * 24 * 60 * 60 * 1_000;
/** How long a duplicate waits for the first request before it is sent away. */
export const duplicateWaitMs = 2_000;

const firstPauseMs = 10;
const maxPauseMs = 200;

/** Who asks for what, under which key. */
export interface IdempotentRequest {
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly actor: Actor;
  readonly key: string;
  readonly hash: Buffer;
}

/** What one idempotent effect hands back: what to answer, and what it made. */
export interface OperationResult<Op extends Operation> {
  readonly body: ResponseBody<Op>;
  readonly headers?: Readonly<Record<string, string>>;
  /** What was created or changed, for `GET /v2/operations`. */
  readonly resource?: { readonly kind: string; readonly id: string };
}

type AttemptOutcome<Op extends Operation> =
  | { readonly kind: 'busy' }
  | { readonly kind: 'replay'; readonly stored: StoredOperation }
  | { readonly kind: 'fresh'; readonly effect: OperationResult<Op>; readonly id: string };

/**
 * Runs an effect at most once under an idempotency key. The claim, the effect and its answer are one
 * transaction: a crash or a refusal leaves nothing, a commit leaves all three. Whoever finds the key taken
 * gives its connection back before it waits, so a storm of duplicates cannot starve the pool.
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
        // The stored body is what this very operation answered before, less its secrets.
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
  // A key is nearly always new, so the claim comes first and the look-up only when it fails.
  if (!(await claimKey(tx, orgId, claim))) {
    const stored = await findOperationByKey(tx, orgId, key);
    if (stored === null) return { kind: 'busy' };
    if (stored.expiresAt > now) {
      if (!stored.requestHash.equals(request.hash)) throw new Fault('IDEMPOTENCY_KEY_REUSED');
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

/** The answer with its secret fields as null: what is shown once is stored never. */
export function withoutSecrets(body: unknown, secretFields: readonly string[]): unknown {
  if (secretFields.length === 0 || typeof body !== 'object' || body === null) return body;
  const copy: Record<string, unknown> = { ...body };
  for (const field of secretFields) if (Object.hasOwn(copy, field)) copy[field] = null;
  return copy;
}

const keyPattern = /^[\u0021-\u007e](?:[\u0020-\u007e]{0,253}[\u0021-\u007e])?$/;

/** The header as a key; undefined when it was not sent. */
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
