import type { Clock } from '../clock/index.ts';
import type { Db } from '../db/index.ts';
import type { IdSource } from '../ids/index.ts';
import type { Limiter } from '../limiter/index.ts';
import type { Logger } from '../log/index.ts';
import type { BodyBudget } from './body/body-budget.ts';
import type { BodyDrain } from './body/body-drain.ts';
import type { CidrSet } from './client-ip.ts';
import type { Authenticate, HttpLimits, ServedContract, Sessions } from './types.ts';

/** The shared state of the server for all request steps. */
export interface ServerContext {
  readonly contract: ServedContract;
  readonly authenticate: Authenticate;
  readonly sessions: Sessions | undefined;
  readonly limiter: Limiter;
  readonly log: Logger;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly db: Db | undefined;
  readonly trusted: CidrSet;
  readonly limits: HttpLimits;
  /** The memory budget of arriving bodies. */
  readonly bodies: BodyBudget;
  /** Reads the rest of refused bodies. */
  readonly bodyDrain: BodyDrain;
  readonly validateResponses: boolean;
  readonly isDemo: boolean;
  readonly draining: AbortSignal;
  /** Responses close their connections. */
  readonly leaving: AbortSignal;
}
