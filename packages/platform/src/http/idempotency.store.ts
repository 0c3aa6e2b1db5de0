import type { Reader } from '../db/index.ts';
import type { Actor, Mode } from '../envelope/index.ts';
import type { OperationId, OrgId } from '../ids/index.ts';

/** One remembered request. */
export interface StoredOperation {
  readonly id: OperationId;
  readonly idempotencyKey: string;
  /** The contract's operation, such as `createApiKey`. */
  readonly operation: string;
  readonly mode: Mode;
  readonly actor: Actor;
  readonly status: number;
  readonly body: unknown;
  readonly resource: { readonly kind: string; readonly id: string } | null;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

export declare function findOperationById(
  reader: Reader,
  orgId: OrgId,
  id: OperationId,
): Promise<StoredOperation | null>;

export declare function findOperationByKey(
  reader: Reader,
  orgId: OrgId,
  key: string,
): Promise<StoredOperation | null>;
