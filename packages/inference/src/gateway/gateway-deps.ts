import type { CreditLeaseClient } from '@millrace/credit-leases/client';
import type { Clock } from '@millrace/platform/clock';
import type { BodyBudgetLimits } from '@millrace/platform/http/body-budget';
import type { IdSource } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import type { KeyFeed } from '../key-feed/index.ts';
import type { Router } from '../routing/index.ts';
import type { UsageReporter } from '../usage/index.ts';
import type { RequestCounter } from './http/request-counter.ts';
import type { Authenticator } from './http/authenticator.ts';
import type { EngineSlots } from './text/engine-slots.ts';
import type { MeteredRequestDeps } from './requests/metered-request.ts';
import type { FundingStatus } from './http/funding-status.ts';
import type { PendingSettlements } from './requests/pending-settlements.ts';
import type { TemplateOverheads } from './text/template-overheads.ts';
import type { Upstreams } from './upstream/upstreams.ts';

/** What a request meets on its way. */
export interface GatewayDeps {
  readonly clock: Clock;
  readonly ids: Pick<IdSource, 'next'>;
  readonly log: Logger;
  readonly keyFeed: KeyFeed;
  readonly authenticator: Authenticator;
  readonly counting: RequestCounter;
  readonly funds: FundingStatus;
  readonly leaseClient: CreditLeaseClient;
  readonly router: Router;
  readonly reporter: UsageReporter;
  readonly upstreams: Upstreams;
  /** Null: prompts in slots of engines are never reused. */
  readonly slots: EngineSlots | null;
  readonly exchanges: MeteredRequestDeps;
  readonly settlements: PendingSettlements;
  readonly templates: TemplateOverheads;
  readonly limits: GatewayLimits;
}

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
