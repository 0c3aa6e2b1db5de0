import type { BodyBudgetLimits } from '@millrace/platform/http/body-budget';

/** Upper limits of everything that a client or engine could grow without bound. */
export interface GatewayLimits {
  readonly bodyBytes: number;
  /** JSON values in one body, on all levels. */
  readonly bodyValues: number;
  /** Limits of all bodies that are arriving. A body of the maximum size always fits. */
  readonly bodies: BodyBudgetLimits;
  /** Of a response without streaming. */
  readonly responseBytes: number;
  /** Maximum duration of a request; credit leases are valid for at least as long. */
  readonly longestRequestMs: number;
  /** Upstream calls per request. */
  readonly attempts: number;
  /** Maximum time without progress while a client reads a response. */
  readonly unreadMs: number;
  /** Interval of usage checkpoints of a long request. */
  readonly checkpointMs: number;
}

export const defaultGatewayLimits: GatewayLimits = {
  bodyBytes: 4 * 1024 * 1024,
  bodyValues: 20_000,
  bodies: {
    processBytes: 64 * 1024 * 1024,
    processBodies: 2_048,
    unfundedBytes: 16 * 1024 * 1024,
    unfundedBodies: 512,
    callerBytes: 16 * 1024 * 1024,
    callerBodies: 256,
  },
  responseBytes: 64 * 1024 * 1024,
  longestRequestMs: 600_000,
  attempts: 3,
  unreadMs: 60_000,
  checkpointMs: 15_000,
};
