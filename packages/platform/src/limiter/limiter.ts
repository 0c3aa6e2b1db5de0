import type { Clock } from '../clock/index.ts';
import type { Logger } from '../log/index.ts';
import type { ValkeyClient } from '../valkey/index.ts';
import type { Limiter } from './types.ts';

export interface LimiterOptions {
  readonly valkey: ValkeyClient;
  readonly log: Logger;
  readonly clock: Clock;
  /** Replaces the server's own time, in milliseconds: tests only. */
  readonly nowMs?: () => number;
  /** The longest a call may take before it counts as "Valkey is down". */
  readonly timeoutMs?: number;
}

export declare function createLimiter(options: LimiterOptions): Limiter;
