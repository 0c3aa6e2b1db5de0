import {
  ValkeyLeases,
  type LeaseReply,
  type LeaseRequest,
  type RecallRequest,
  type EnlargeResult,
  type OpenResult,
  type LeaseServer,
} from '@millrace/credit-leases/protocol';
import type { Timer } from '@millrace/platform/clock';
import type { Db, Reader } from '@millrace/platform/db';
import type { Logger } from '@millrace/platform/log';
import type { ValkeyClient } from '@millrace/platform/valkey';
import { exceedsBudgets } from './budget-check.ts';
import { admissionMs, lowWaterOf, checkLeaseTimes } from './lease-decisions.ts';
import { repairAfterRestore } from './ledger-comparison.ts';
import { recordLeaseHolder } from './lease-holders.store.ts';
import { RetryWithoutBudgets, grantLease, recordRecall } from './lease-ledger.ts';
import type { LeaseRules, Granted, GrantResult, ReportedRecall } from './lease-ledger.ts';
import { findOpenLease, listBudgetGrants, lockLease, type CreditLease } from './leases.store.ts';
import { recallUpTo } from './recall.ts';
import { createServerResolver, type ServerResolver } from './server-resolver.ts';

export interface CreditLeaseServiceOptions {
  readonly db: Db;
  /** The Valkey of the credit leases: without persistence, replicas or failover. */
  readonly valkey: Pick<ValkeyClient, 'command' | 'runLoaded'>;
  readonly cell: number;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'warn' | 'error'>;
  readonly rules: LeaseRules;
  /** False while the database is known to be restored to an earlier point: then no lease is granted. */
  readonly mayGrant?: (reader: Reader) => Promise<boolean>;
}

const maxAttempts = 5;

const busyReply = { outcome: 'refused', reason: 'busy', endThrough: 0n } as const;

/** Records the gateway as a holder, who can spend, before the lease is sent to it. */
function registerHolder(db: Db, gatewayId: string, lease: CreditLease): Promise<'told' | 'dead' | 'ended'> {
  return db.transaction({ name: 'tell gateway of lease', isolation: 'read committed' }, async (tx) => {
    const now = await lockLease(tx, lease.orgId, lease.id);
    if (now?.state !== 'open') return 'ended';
    return (await recordLeaseHolder(tx, lease, gatewayId)) ? 'told' : 'dead';
  });
}

async function applyInValkey(
  { valkey, rules, clock }: CreditLeaseServiceOptions,
  granted: Granted,
  server: LeaseServer,
  startedMs: number,
): Promise<EnlargeResult | OpenResult> {
  const { lease } = granted;
  // Less the elapsed time, so that Valkey never admits for longer than the ledger has renewed the lease.
  const admitForMs = admissionMs(rules) - (clock.monotonicMs() - startedMs);
  const budgets = new Map(granted.budgets.map((budget) => [budget.id, budget.granted]));
  const grant = { leaseId: lease.id, epoch: lease.epoch, granted: lease.granted, admitForMs, budgets };
  const leases = new ValkeyLeases(valkey, server);
  return granted.outcome === 'opened' ? leases.open(lease, grant) : leases.enlarge(lease, grant);
}

export class CreditLeaseService {
  readonly #options: CreditLeaseServiceOptions;
  readonly #resolver: ServerResolver;

  constructor(options: CreditLeaseServiceOptions) {
    checkLeaseTimes(options.rules);
    this.#options = options;
    this.#resolver = createServerResolver(options);
  }

  /** Replies to a gateway. If Valkey or the ledger is unreachable, the reply is `busy` instead of an error. */
  readonly lease = async (request: LeaseRequest): Promise<LeaseReply> => {
    const { cell, log } = this.#options;
    if (request.cell !== cell) {
      log.error({ cell: request.cell }, 'a gateway requested a credit lease in the wrong cell');
      return busyReply;
    }
    try {
      for (let nth = 0; nth < maxAttempts; nth += 1) {
        const reply = await this.#attempt(request);
        if (reply !== 'again') return reply;
      }
    } catch (error) {
      log.warn({ err: error, orgId: request.orgId }, 'could not grant a credit lease');
    }
    return busyReply;
  };

  /** Recalls up to this amount for another use and returns the freed amount. `all` also closes a lease that exceeds a budget. */
  readonly recallFor = async (request: RecallRequest): Promise<bigint> => {
    const { db, cell } = this.#options;
    const findLease = (): Promise<CreditLease | null> => findOpenLease(db, { ...request, cell });
    const freed = await recallUpTo(request, {
      findLease,
      valkeyLeasesOf: (generation) => this.valkeyLeasesOf(generation),
      invalidateServer: this.#resolver.invalidate,
      record: (lease, recalled) => this.#recordRecall(lease, { recalled, budgets: new Map() }, 'keep'),
    });
    if (request.amount !== 'all') return freed;
    // A budget was set. Credit that requests in flight return must not be spent beyond it either.
    const lease = await findLease();
    if (lease !== null && (await exceedsBudgets(db, lease))) await this.retire(lease);
    return freed;
  };

  /** Starts closing a lease: recalls its unreserved credit from Valkey, then stops its grants. */
  async retire(lease: CreditLease): Promise<void> {
    const leases = await this.valkeyLeasesOf(lease.generation);
    const budgets = await listBudgetGrants(this.#options.db, lease.orgId, lease.id);
    const ids = budgets.map(({ id }) => id);
    const closed = leases === null ? null : await leases.close(lease, lease.epoch, ids);
    if (closed?.outcome === 'foreign') this.#resolver.invalidate();
    await this.#recordRecall(lease, closed?.outcome === 'closed' ? closed : null, 'end');
  }

  /** Starts closing without Valkey, for a lease that is lost or unreachable. */
  async abandon(lease: CreditLease): Promise<void> {
    await this.#recordRecall(lease, null, 'end');
  }

  /** The leases of a generation; null unless it is the current one. */
  async valkeyLeasesOf(generation: bigint): Promise<ValkeyLeases | null> {
    const server = await this.#resolver.current();
    return server.generation === generation ? new ValkeyLeases(this.#options.valkey, server) : null;
  }

  async #attempt(request: LeaseRequest): Promise<LeaseReply | 'again'> {
    const { db, clock, log, rules } = this.#options;
    const startedMs = clock.monotonicMs();
    const server = await this.#resolver.current();
    const granted = await this.#grantInLedger(request, server);
    if (granted.outcome === 'refused') {
      if (granted.reason === 'frozen') await this.#startClosingFrozen(request);
      return granted;
    }
    if (granted.outcome === 'outdated') {
      this.#resolver.invalidate();
      return 'again';
    }
    const { lease } = granted;
    if (granted.outcome === 'full') {
      await this.retire(lease);
      return 'again';
    }
    const placed = await applyInValkey(this.#options, granted, server, startedMs);
    if (placed.outcome === 'foreign') this.#resolver.invalidate();
    if (placed.outcome === 'closed') await this.retire(lease);
    if (placed.outcome === 'gone' || placed.outcome === 'foreign') await this.abandon(lease);
    if (await repairAfterRestore({ db, log, service: this }, lease, placed)) return 'again';
    if (placed.outcome !== 'opened' && placed.outcome !== 'granted') return 'again';
    if (placed.outcome === 'granted' && placed.recalled > lease.recalled) {
      // An earlier recall was not recorded in the ledger.
      await this.#recordRecall(lease, { recalled: placed.recalled, budgets: new Map() }, 'keep');
    }
    const { exceeded, left, returning, endThrough } = granted;
    const status = await registerHolder(db, request.gatewayId, lease);
    if (status === 'dead') return { outcome: 'refused', reason: 'dead', endThrough };
    if (status === 'ended') return 'again';
    const lowWater = lowWaterOf('remaining' in placed ? placed.remaining : lease.granted);
    return {
      ...{ outcome: 'leased', server, leaseId: lease.id, epoch: lease.epoch, granted: lease.granted },
      ...{ lowWater, admitForMs: admissionMs(rules), exceeded, left, returning, endThrough },
    };
  }

  async #grantInLedger(request: LeaseRequest, server: LeaseServer): Promise<GrantResult> {
    const { db, rules, mayGrant = async () => true } = this.#options;
    const grant = (request: LeaseRequest) =>
      db.transaction({ name: 'lend to pot', isolation: 'read committed' }, async (tx) =>
        (await mayGrant(tx)) ? grantLease(tx, request, { server, rules }) : busyReply,
      );
    try {
      return await grant(request);
    } catch (error) {
      if (!(error instanceof RetryWithoutBudgets)) throw error;
      return grant({ ...request, budgets: [] });
    }
  }

  /** Closes the lease of a frozen organisation, so that gateways that have not asked yet stop spending too. */
  async #startClosingFrozen({ orgId, mode }: LeaseRequest): Promise<void> {
    const { db, cell, log } = this.#options;
    const lease = await findOpenLease(db, { orgId, mode, cell });
    if (lease === null) return;
    await this.retire(lease).catch((error: unknown) =>
      log.warn({ err: error, orgId }, 'could not close the credit lease of a frozen organisation'),
    );
  }

  #recordRecall(lease: CreditLease, reported: ReportedRecall | null, then: 'end' | 'keep'): Promise<bigint> {
    const { db, rules } = this.#options;
    return db.transaction({ name: 'take back from pot', isolation: 'read committed' }, (tx) =>
      recordRecall(tx, lease, { reported, action: then, rules }),
    );
  }
}

export function createCreditLeaseService(options: CreditLeaseServiceOptions): CreditLeaseService {
  return new CreditLeaseService(options);
}
