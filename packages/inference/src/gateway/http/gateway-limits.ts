import type { BodyBudgetLimits } from '@millrace/platform/http/body-budget';

/** Everything that could grow without end has an end here. */
export interface GatewayLimits {
  readonly bodyBytes: number;
  /** Texts, numbers, lists and objects in one body, on all levels of it. */
  readonly bodyValues: number;
  /** Of all bodies that are arriving at once. One of the largest size fits in any case. */
  readonly bodies: BodyBudgetLimits;
  /** Of an answer in one piece. */
  readonly responseBytes: number;
  /** The longest a request may take in all: as long as leases are made for. */
  readonly longestRequestMs: number;
  /** Attempts at engines for one request. */
  readonly attempts: number;
  /** How long a client may take nothing of what is there for it. */
  readonly unreadMs: number;
  /** How often a long request reports how far it has come. */
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
