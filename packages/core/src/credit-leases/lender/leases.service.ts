import {
  createValkeyLeases,
  type LeaseReply,
  type LeaseRequest,
  type RecallRequest,
  type EnlargeResult,
  type OpenResult,
  type LeaseGrant,
  type ValkeyLeases,
  type LeaseServer,
} from '@millrace/credit-leases/protocol';
import type { Timer } from '@millrace/platform/clock';
import type { Db, Reader } from '@millrace/platform/db';
import type { Logger } from '@millrace/platform/log';
import type { ValkeyClient } from '@millrace/platform/valkey';
import { exceedsBudgets } from './budget-check.ts';
import { admissionMs, lowWaterOf, checkLeaseTimes } from './lease-decisions.ts';
import { createLedgerComparison } from './ledger-comparison.ts';
import { recordLeaseHolder } from './lease-holders.store.ts';
import {
  RetryWithoutBudgets,
  grantLease,
  recordRecall,
  type LeaseRules,
  type GrantResult,
  type ReportedRecall,
} from './lease-ledger.ts';
import { findOpenLease, listBudgetGrants, lockLease, type CreditLease } from './leases.store.ts';
import { recallUpTo } from './recall.ts';
import { createServerResolver } from './server-resolver.ts';

export interface CreditLeaseServiceOptions {
  readonly db: Db;
  /** The pot Valkey: without persistence, replicas or failover. */
  readonly valkey: Pick<ValkeyClient, 'command' | 'runLoaded'>;
  readonly cell: number;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'warn' | 'error'>;
  readonly rules: LeaseRules;
  /** False while the database is known to be restored to an earlier point: then nothing is lent. */
  readonly mayGrant?: (reader: Reader) => Promise<boolean>;
}

export interface CreditLeaseService {
  /** Answers a gateway. Never throws for want of Valkey or of the ledger: it then says that it is busy. */
  lease(request: LeaseRequest): Promise<LeaseReply>;
  /**
   * Takes up to this much back from the pot, for something else of the organisation. Answers what became available. Who asks
   * for all of it has a lease that is beyond a budget called in as well.
   */
  recallFor(request: RecallRequest): Promise<bigint>;
  /** Calls a lease in: takes what is unreserved from Valkey, then lends no more on it. */
  retire(lease: CreditLease): Promise<void>;
  /** The same without Valkey, for a pot that is lost or out of reach. */
  abandon(lease: CreditLease): Promise<void>;
  /** The pots on the server of a generation, if that is the present one. */
  valkeyLeasesOf(generation: bigint): Promise<ValkeyLeases | null>;
}

const maxAttempts = 5;

const busyReply = { outcome: 'refused', reason: 'busy', endThrough: 0n } as const;

type Granted = Extract<GrantResult, { lease: CreditLease; endThrough: bigint }>;

function grantOf({ lease, budgets }: Granted, admitForMs: number): LeaseGrant {
  const { id: leaseId, epoch, granted } = lease;
  return {
    leaseId,
    epoch,
    granted,
    admitForMs,
    budgets: new Map(budgets.map((granted) => [granted.id, granted.granted])),
  };
}

function leaseReply(
  { lease, exceeded, left, returning, endThrough }: Granted,
  server: LeaseServer,
  { rules, filledTo }: { readonly rules: LeaseRules; readonly filledTo: bigint },
): LeaseReply {
  return {
    outcome: 'leased',
    server,
    leaseId: lease.id,
    epoch: lease.epoch,
    granted: lease.granted,
    lowWater: lowWaterOf(filledTo),
    admitForMs: admissionMs(rules),
    exceeded,
    left,
    returning,
    endThrough,
  };
}

/** From here on the gateway counts among those who can spend; only then is it told. */
function registerHolder(
  db: Db,
  request: LeaseRequest,
  lease: CreditLease,
): Promise<'told' | 'dead' | 'ended'> {
  return db.transaction({ name: 'tell gateway of lease', isolation: 'read committed' }, async (tx) => {
    const now = await lockLease(tx, lease.orgId, lease.id);
    if (now?.state !== 'open') return 'ended';
    const { gatewayId } = request;
    const usable = await recordLeaseHolder(tx, lease.orgId, {
      leaseId: lease.id,
      mode: lease.mode,
      gatewayId,
    });
    return usable ? 'told' : 'dead';
  });
}

/** Tells Valkey of what the book has lent. */
async function applyInValkey(
  { valkey, rules, clock }: CreditLeaseServiceOptions,
  granted: Granted,
  server: LeaseServer,
  startedMs: number,
): Promise<EnlargeResult | OpenResult> {
  const { lease } = granted;
  // Less what it took to get here, so that Valkey never admits for longer than the book has prolonged it.
  const grant = grantOf(granted, admissionMs(rules) - (clock.monotonicMs() - startedMs));
  const leases = createValkeyLeases({ valkey, server });
  return granted.outcome === 'opened' ? leases.open(lease, grant) : leases.enlarge(lease, grant);
}

export function createCreditLeaseService(options: CreditLeaseServiceOptions): CreditLeaseService {
  const { db, valkey, cell, clock, log, rules, mayGrant = async () => true } = options;
  checkLeaseTimes(rules);
  const resolver = createServerResolver({ db, valkey, cell, log });
  const inTransaction = <T>(name: string, work: Parameters<typeof db.transaction<T>>[1]): Promise<T> =>
    db.transaction({ name, isolation: 'read committed' }, work);

  async function grantInLedger(request: LeaseRequest, server: LeaseServer): Promise<GrantResult> {
    const grant = (request: LeaseRequest) =>
      inTransaction('lend to pot', async (tx) =>
        (await mayGrant(tx)) ? grantLease(tx, request, { server, rules }) : busyReply,
      );
    try {
      return await grant(request);
    } catch (error) {
      if (!(error instanceof RetryWithoutBudgets)) throw error;
      return grant({ ...request, budgets: [] });
    }
  }

  function recordRecallOf(
    lease: CreditLease,
    reported: ReportedRecall | null,
    action: 'end' | 'keep',
  ): Promise<bigint> {
    return inTransaction('take back from pot', (tx) => recordRecall(tx, lease, { reported, action, rules }));
  }

  async function valkeyLeasesOf(generation: bigint): Promise<ValkeyLeases | null> {
    const server = await resolver.current();
    return server.generation === generation ? createValkeyLeases({ valkey, server }) : null;
  }

  async function retire(lease: CreditLease): Promise<void> {
    const leases = await valkeyLeasesOf(lease.generation);
    const budgets = await listBudgetGrants(db, lease.orgId, lease.id);
    const ids = budgets.map(({ id }) => id);
    const closed = leases === null ? null : await leases.close(lease, lease.epoch, ids);
    if (closed?.outcome === 'foreign') resolver.invalidate();
    await recordRecallOf(lease, closed?.outcome === 'closed' ? closed : null, 'end');
  }

  const abandon = async (lease: CreditLease): Promise<void> => {
    await recordRecallOf(lease, null, 'end');
  };

  const repairRestored = createLedgerComparison({ db, log, valkeyLeasesOf, abandon });

  /** Who is frozen spends no more, also at the gateways that have not asked yet. */
  async function startClosingFrozen({ orgId, mode }: LeaseRequest): Promise<void> {
    const lease = await findOpenLease(db, { orgId, mode, cell });
    if (lease === null) return;
    await retire(lease).catch((error: unknown) =>
      log.warn({ err: error, orgId }, 'the pot of a frozen organisation could not be called in'),
    );
  }

  async function attempt(request: LeaseRequest): Promise<LeaseReply | 'again'> {
    const startedMs = clock.monotonicMs();
    const server = await resolver.current();
    const granted = await grantInLedger(request, server);
    if (granted.outcome === 'refused') {
      if (granted.reason === 'frozen') await startClosingFrozen(request);
      return granted;
    }
    if (granted.outcome === 'outdated') {
      resolver.invalidate();
      return 'again';
    }
    const { lease } = granted;
    if (granted.outcome === 'full') {
      await retire(lease);
      return 'again';
    }
    const placed = await applyInValkey(options, granted, server, startedMs);
    if (placed.outcome === 'foreign') resolver.invalidate();
    if (placed.outcome === 'closed') await retire(lease);
    if (placed.outcome === 'gone' || placed.outcome === 'foreign') await abandon(lease);
    if (await repairRestored(lease, placed)) return 'again';
    if (placed.outcome !== 'opened' && placed.outcome !== 'granted') return 'again';
    if (placed.outcome === 'granted' && placed.recalled > lease.recalled) {
      // A recall that did not live to tell the book.
      await recordRecallOf(lease, { recalled: placed.recalled, budgets: new Map() }, 'keep');
    }
    const status = await registerHolder(db, request, lease);
    if (status === 'dead') return { outcome: 'refused', reason: 'dead', endThrough: granted.endThrough };
    if (status === 'ended') return 'again';
    return leaseReply(granted, server, {
      rules,
      filledTo: 'remaining' in placed ? placed.remaining : lease.granted,
    });
  }

  return {
    async lease(request) {
      if (request.cell !== cell) {
        log.error({ cell: request.cell }, 'a lease was asked for in the wrong cell');
        return busyReply;
      }
      try {
        for (let nth = 0; nth < maxAttempts; nth += 1) {
          const reply = await attempt(request);
          if (reply !== 'again') return reply;
        }
      } catch (error) {
        log.warn({ err: error, orgId: request.orgId }, 'a lease could not be given');
      }
      return busyReply;
    },

    async recallFor(request) {
      const findLease = (): Promise<CreditLease | null> => findOpenLease(db, { ...request, cell });
      const freed = await recallUpTo(request, {
        findLease,
        valkeyLeasesOf,
        invalidateServer: resolver.invalidate,
        record: (lease, recalled) => recordRecallOf(lease, { recalled, budgets: new Map() }, 'keep'),
      });
      if (request.amount !== 'all') return freed;
      // Somebody has set a budget. What requests under way give back must not be spent beyond it either.
      const lease = await findLease();
      if (lease !== null && (await exceedsBudgets(db, lease))) await retire(lease);
      return freed;
    },

    retire,
    abandon,
    valkeyLeasesOf,
  };
}
