import type { Timer } from '@millrace/platform/clock';
import type { Db, Reader } from '@millrace/platform/db';
import type { Logger } from '@millrace/platform/log';
import type { ValkeyClient } from '@millrace/platform/valkey';
import { isBeyondBudgets } from './beyond-budgets.ts';
import { createLedgerComparison } from './ledger-comparison.ts';
import { noteTold } from './gateways.store.ts';
import {
  LeaseRefused,
  lendInBook,
  takeBackInBook,
  type LeaseRules,
  type Lent,
  type SaidRecalled,
} from './lease-book.ts';
import type { LeaseReply, LeaseRequest, RecallRequest } from './messages.ts';
import { admissionMs, lowWaterOf, requireSoundTimes } from './pot.ts';
import { potsOn, type Enlarged, type Opened, type PotGrant, type PotValkey } from './pot-valkey.ts';
import { findOpenLease, listLentBudgets, lockLease, type Lease } from './pots.store.ts';
import { recallUpTo } from './recalling.ts';
import type { PotServer } from './scripts.ts';
import { createServerKeeper } from './server-keeper.ts';

export interface PotServiceOptions {
  readonly db: Db;
  /** The pot Valkey: without persistence, replicas or failover. */
  readonly valkey: Pick<ValkeyClient, 'command' | 'runLoaded'>;
  readonly cell: number;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'warn' | 'error'>;
  readonly rules: LeaseRules;
  /** False while the database is known to be restored to an earlier point: then nothing is lent. */
  readonly mayLend?: (reader: Reader) => Promise<boolean>;
}

export interface PotService {
  /** Answers a gateway. Never throws for want of Valkey or of the ledger: it then says that it is busy. */
  lease(request: LeaseRequest): Promise<LeaseReply>;
  /**
   * Takes up to this much back from the pot, for something else of the organisation. Answers what became available. Who asks
   * for all of it has a lease that is beyond a budget called in as well.
   */
  recallFor(request: RecallRequest): Promise<bigint>;
  /** Calls a lease in: takes what is unreserved from Valkey, then lends no more on it. */
  retire(lease: Lease): Promise<void>;
  /** The same without Valkey, for a pot that is lost or out of reach. */
  abandon(lease: Lease): Promise<void>;
  /** The pots on the server of a generation, if that is the present one. */
  potsOf(generation: bigint): Promise<PotValkey | null>;
}

const mostAttempts = 5;

const notNow = { outcome: 'refused', reason: 'busy', endThrough: 0n } as const;

type LentTo = Extract<Lent, { lease: Lease; endThrough: bigint }>;

function grantOf({ lease, budgets }: LentTo, admitForMs: number): PotGrant {
  const { id: leaseId, epoch, granted } = lease;
  return {
    leaseId,
    epoch,
    granted,
    admitForMs,
    budgets: new Map(budgets.map((lent) => [lent.id, lent.granted])),
  };
}

function leased(
  { lease, exceeded, left, returning, endThrough }: LentTo,
  server: PotServer,
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
function tell(db: Db, request: LeaseRequest, lease: Lease): Promise<'told' | 'dead' | 'ended'> {
  return db.transaction({ name: 'tell gateway of lease', isolation: 'read committed' }, async (tx) => {
    const now = await lockLease(tx, lease.orgId, lease.id);
    if (now?.state !== 'open') return 'ended';
    const { gatewayId } = request;
    const usable = await noteTold(tx, lease.orgId, { leaseId: lease.id, mode: lease.mode, gatewayId });
    return usable ? 'told' : 'dead';
  });
}

export function createPotService(options: PotServiceOptions): PotService {
  const { db, valkey, cell, clock, log, rules, mayLend = async () => true } = options;
  requireSoundTimes(rules);
  const keeper = createServerKeeper({ db, valkey, cell, log });
  const inTransaction = <T>(name: string, work: Parameters<typeof db.transaction<T>>[1]): Promise<T> =>
    db.transaction({ name, isolation: 'read committed' }, work);

  async function lend(request: LeaseRequest, server: PotServer): Promise<Lent> {
    const book = (asked: LeaseRequest) =>
      inTransaction('lend to pot', async (tx) =>
        (await mayLend(tx)) ? lendInBook(tx, asked, { server, rules }) : notNow,
      );
    try {
      return await book(request);
    } catch (error) {
      if (!(error instanceof LeaseRefused)) throw error;
      return book({ ...request, budgets: [] });
    }
  }

  function takeBack(lease: Lease, said: SaidRecalled | null, act: 'end' | 'keep'): Promise<bigint> {
    return inTransaction('take back from pot', (tx) => takeBackInBook(tx, lease, { said, act, rules }));
  }

  async function potsOf(generation: bigint): Promise<PotValkey | null> {
    const server = await keeper.current();
    return server.generation === generation ? potsOn({ valkey, server }) : null;
  }

  async function retire(lease: Lease): Promise<void> {
    const pots = await potsOf(lease.generation);
    const budgets = await listLentBudgets(db, lease.orgId, lease.id);
    const ids = budgets.map(({ id }) => id);
    const closed = pots === null ? null : await pots.close(lease, lease.epoch, ids);
    if (closed?.outcome === 'foreign') keeper.doubt();
    await takeBack(lease, closed?.outcome === 'closed' ? closed : null, 'end');
  }

  const abandon = async (lease: Lease): Promise<void> => {
    await takeBack(lease, null, 'end');
  };

  const repairRestored = createLedgerComparison({ db, log, potsOf, abandon });

  /** Tells Valkey of what the book has lent. */
  async function place(lent: LentTo, server: PotServer, startedMs: number): Promise<Enlarged | Opened> {
    const { lease } = lent;
    // Less what it took to get here, so that Valkey never admits for longer than the book has prolonged it.
    const grant = grantOf(lent, admissionMs(rules) - (clock.monotonicMs() - startedMs));
    const pots = potsOn({ valkey, server });
    return lent.outcome === 'opened' ? pots.open(lease, grant) : pots.enlarge(lease, grant);
  }

  /** Who is frozen spends no more, also at the gateways that have not asked yet. */
  async function callInFrozen({ orgId, mode }: LeaseRequest): Promise<void> {
    const lease = await findOpenLease(db, { orgId, mode, cell });
    if (lease === null) return;
    await retire(lease).catch((error: unknown) =>
      log.warn({ err: error, orgId }, 'the pot of a frozen organisation could not be called in'),
    );
  }

  async function attempt(request: LeaseRequest): Promise<LeaseReply | 'again'> {
    const startedMs = clock.monotonicMs();
    const server = await keeper.current();
    const lent = await lend(request, server);
    if (lent.outcome === 'refused') {
      if (lent.reason === 'frozen') await callInFrozen(request);
      return lent;
    }
    if (lent.outcome === 'outdated') {
      keeper.doubt();
      return 'again';
    }
    const { lease } = lent;
    if (lent.outcome === 'full') {
      await retire(lease);
      return 'again';
    }
    const placed = await place(lent, server, startedMs);
    if (placed.outcome === 'foreign') keeper.doubt();
    if (placed.outcome === 'closed') await retire(lease);
    if (placed.outcome === 'gone' || placed.outcome === 'foreign') await abandon(lease);
    if (await repairRestored(lease, placed)) return 'again';
    if (placed.outcome !== 'opened' && placed.outcome !== 'granted') return 'again';
    if (placed.outcome === 'granted' && placed.recalled > lease.recalled) {
      // A recall that did not live to tell the book.
      await takeBack(lease, { recalled: placed.recalled, budgets: new Map() }, 'keep');
    }
    const told = await tell(db, request, lease);
    if (told === 'dead') return { outcome: 'refused', reason: 'dead', endThrough: lent.endThrough };
    if (told === 'ended') return 'again';
    return leased(lent, server, {
      rules,
      filledTo: 'remaining' in placed ? placed.remaining : lease.granted,
    });
  }

  return {
    async lease(request) {
      if (request.cell !== cell) {
        log.error({ cell: request.cell }, 'a lease was asked for in the wrong cell');
        return notNow;
      }
      try {
        for (let nth = 0; nth < mostAttempts; nth += 1) {
          const reply = await attempt(request);
          if (reply !== 'again') return reply;
        }
      } catch (error) {
        log.warn({ err: error, orgId: request.orgId }, 'a lease could not be given');
      }
      return notNow;
    },

    async recallFor(request) {
      const findLease = (): Promise<Lease | null> => findOpenLease(db, { ...request, cell });
      const freed = await recallUpTo(request, {
        findLease,
        potsOf,
        doubt: keeper.doubt,
        record: (lease, recalled) => takeBack(lease, { recalled, budgets: new Map() }, 'keep'),
      });
      if (request.amount !== 'all') return freed;
      // Somebody has set a budget. What requests under way give back must not be spent beyond it either.
      const lease = await findLease();
      if (lease !== null && (await isBeyondBudgets(db, lease))) await retire(lease);
      return freed;
    },

    retire,
    abandon,
    potsOf,
  };
}
