import type { EventData } from '@millrace/contract';
import type { Db, Tx } from '@millrace/platform/db';
import { toUuid, type MeterId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { createItemRunner } from '@millrace/platform/loops';
import { meteredTotal, zeroUsd, type NanoUsd } from '@millrace/platform/money';
import { appendOutbox } from '@millrace/platform/outbox';
import { counter } from '@millrace/platform/telemetry';
import {
  applyLedger,
  readBalance,
  readBalances,
  runwayMs,
  walletKey,
  type LedgerSuccess,
  type RecallCredit,
  type WalletRef,
} from '../ledger/index.ts';
import {
  burnRateOf,
  balanceEventData,
  isBudgetExhausting,
  needsEqualizing,
  equalizedHoldTargets,
  dunningTransitionOf,
  type DunningTransition,
} from './dunning.ts';
import {
  cancelBalanceActions,
  cancelObsoleteStops,
  listObsoleteStops,
  lockDunningState,
  readWalletStatuses,
  requireStopsOfWallet,
  requireStopsOfExhausted,
  setLevel,
  type WalletStatus,
} from './dunning.store.ts';
import { cancelStopsLoop, postMetersLoop, checkWalletsLoop } from './loops.ts';
import {
  releaseMeterShards,
  listDueMeters,
  lockDueMeters,
  lockRunningMeters,
  postponeMeters,
  saveMeters,
  claimMeterShards,
} from './meters.store.ts';
import type { Meter } from './meter.ts';
import { planPosting, type MeterPlan } from './meter-plans.ts';
import { defaultMeteringPolicy, type MeteringPolicy } from './policy.ts';

const posted = counter('millrace_metering_postings_total');
const refusalsCounter = counter('millrace_metering_refused_total');
const shortfalls = counter('millrace_metering_shortfalls_total');
const transitionsCounter = counter('millrace_wallet_ladder_moves_total');

export interface SweepOptions {
  readonly shards: readonly number[];
  readonly log: Pick<Logger, 'warn' | 'error'>;
  readonly batchSize?: number;
  readonly policy?: MeteringPolicy;
  /** Recalls leased credit before running work is stopped for lack of money. Absent: there are no leases. */
  readonly recallMoney?: RecallCredit | undefined;
}

export interface SweepReport {
  readonly posted: number;
  readonly wallets: number;
  readonly moved: number;
}

type SweepSettings = Required<Omit<SweepOptions, 'recallMoney'>> & Pick<SweepOptions, 'recallMoney'>;
type AtTime<Names extends keyof SweepSettings = keyof SweepSettings> = Pick<SweepSettings, Names> & {
  readonly now: Date;
};

const BATCH_SIZE = 500;
const WALLET_BATCH = 5_000;
const isolation = 'read committed';

/** Several workers may sweep the same shard: locked meters are skipped, and each level is announced once. */
export async function sweepMeters(db: Db, options: SweepOptions): Promise<SweepReport> {
  const settings = { batchSize: BATCH_SIZE, policy: defaultMeteringPolicy, ...options };
  const count = await postDueMeters(db, settings);
  return { posted: count, ...(await checkWallets(db, settings)) };
}

/** Posts batches across organisations; a failed batch is split, and only a meter that fails alone is postponed. */
async function postDueMeters(db: Db, settings: SweepSettings): Promise<number> {
  const { shards, batchSize, log } = settings;
  const runner = createItemRunner(postMetersLoop, { db, log });
  let total = 0;
  for (;;) {
    const due = await listDueMeters(db, { shards, now: db.clock.now(), limit: batchSize });
    let taken = 0;
    const { failed } = await runner.runBatch(due, {
      key: (id) => toUuid(id),
      together: async (ids) => {
        const count = await db.transaction({ name: 'post meters', isolation }, (tx) =>
          postBatch(tx, ids, settings),
        );
        taken += count;
      },
    });
    total += taken;
    // No progress means that another worker has locked these meters.
    if (due.length < batchSize || taken + failed === 0) return total;
  }
}

async function postBatch(
  tx: Tx,
  ids: readonly MeterId[],
  { policy, log }: Pick<SweepSettings, 'policy' | 'log'>,
): Promise<number> {
  const now = tx.clock.now();
  const due = await lockDueMeters(tx, ids, now);
  await settleMeters(
    tx,
    due.map((meter) => planPosting(meter, now, policy)),
    { now, policy, log },
  );
  return due.length;
}

/** A meter that the ledger refuses has lost its hold: it stays unchanged and is logged, and the others are posted. */
async function settleMeters(
  tx: Tx,
  plans: readonly MeterPlan[],
  { now, policy, log }: AtTime<'policy' | 'log'>,
): Promise<readonly Meter[]> {
  const results = await applyLedger(
    tx,
    plans.flatMap((plan) => plan.commands),
  );
  const changes: { before: Meter; after: Meter }[] = [];
  const stuck: Meter[] = [];
  let next = 0;
  for (const plan of plans) {
    const answers = results.slice(next, (next += plan.commands.length));
    if (answers.every((result): result is LedgerSuccess => result.ok && !result.replayed)) {
      changes.push({ before: plan.meter, after: plan.finish(answers) });
      if (answers.some((response) => response.shortfall > 0n)) shortfalls.add(1);
    } else {
      stuck.push(plan.meter);
      log.error(
        { meterId: plan.meter.id, orgId: plan.meter.orgId, answers },
        'the ledger refused to post a meter',
      );
    }
  }
  await saveMeters(tx, changes);
  await postponeMeters(
    tx,
    stuck.map((meter) => meter.id),
    new Date(now.getTime() + policy.marginMs),
  );
  posted.add(changes.length);
  refusalsCounter.add(stuck.length);
  return [...changes.map((change) => change.after), ...stuck];
}

async function checkWallets(db: Db, settings: SweepSettings): Promise<{ wallets: number; moved: number }> {
  const { shards, log } = settings;
  // Only selects wallets; each selected wallet is checked again at the time of its own transaction.
  const now = db.clock.now();
  const looks = await readWalletStatuses(db, shards, now);
  const runner = createItemRunner(checkWalletsLoop, { db, log });
  const recall = stopAfterFailures(settings.recallMoney);
  let moved = 0;
  for (let first = 0; first < looks.length; first += WALLET_BATCH) {
    await runner.run(
      await selectWalletsToCheck(db, looks.slice(first, first + WALLET_BATCH), { ...settings, now }),
      {
        key: ({ orgId, mode }) => `${toUuid(orgId)} ${mode}`,
        work: async (look) => {
          await recallLeasedCredit(db, look, { ...settings, recallMoney: recall });
          if (await updateWallet(db, look, settings)) moved += 1;
        },
      },
    );
  }
  await cancelObsoleteStopsInBatches(db, settings);
  return { wallets: looks.length, moved };
}

/** Cancels stops in batches; a failed batch is split, and only stops that fail alone are postponed. */
async function cancelObsoleteStopsInBatches(
  db: Db,
  { batchSize, policy, log }: Pick<SweepSettings, 'batchSize' | 'policy' | 'log'>,
): Promise<void> {
  const runner = createItemRunner(cancelStopsLoop, { db, log });
  const times = (now: Date) => ({ now, dryBy: new Date(now.getTime() + policy.stopAheadMs) });
  for (;;) {
    const ids = await listObsoleteStops(db, cancelStopsLoop, { ...times(db.clock.now()), limit: batchSize });
    const { done, failed } = await runner.runBatch(ids, {
      key: (id) => id,
      together: (some) =>
        db.transaction({ name: 'call off stops', isolation }, (tx) =>
          cancelObsoleteStops(tx, some, times(tx.clock.now())),
        ),
    });
    if (ids.length < batchSize || done + failed === 0) return;
  }
}

/** Selects all wallets if their balances cannot be read together; each is then read separately. */
async function selectWalletsToCheck(
  db: Db,
  looks: readonly WalletStatus[],
  settings: AtTime<'policy' | 'log'>,
): Promise<readonly WalletStatus[]> {
  try {
    const balances = await readBalances(db, looks, settings.now);
    return looks.filter((look) => {
      const runway = runwayMs(look, balances.get(walletKey(look))?.available ?? zeroUsd);
      return needsCheck(look, runway, settings);
    });
  } catch (error) {
    settings.log.warn({ err: error, wallets: looks.length }, 'reading balances in one query failed');
    return looks;
  }
}

function needsCheck(look: WalletStatus, runway: number | null, { now, policy }: AtTime<'policy'>): boolean {
  return (
    look.step === 'empty' ||
    dunningTransitionOf(look.step, runway) !== null ||
    needsEqualizing(look, runway, now, policy) ||
    isBudgetExhausting(look, runway, now, policy)
  );
}

const RECALL_FAILURES_MAX = 5;

/**
 * Stops recalling after several failures in a row, because thousands of wallets would each wait for the timeout. A
 * single failure may be caused by one organisation, so it does not count.
 */
function stopAfterFailures(recall: RecallCredit | undefined): RecallCredit | undefined {
  if (recall === undefined) return undefined;
  let failures = 0;
  return async (request) => {
    if (failures >= RECALL_FAILURES_MAX) return 0n;
    try {
      const recalled = await recall(request);
      failures = 0;
      return recalled;
    } catch (error) {
      failures += 1;
      throw error;
    }
  };
}

/**
 * Running resources are paid for before future inference, so leased credit is recalled. It runs outside of a
 * transaction, because a recall uses the network. If it fails, the wallet is checked with the money that it has.
 */
async function recallLeasedCredit(
  db: Db,
  look: WalletStatus,
  { recallMoney, policy, log }: Pick<SweepSettings, 'recallMoney' | 'policy' | 'log'>,
): Promise<void> {
  const { orgId, mode, burnPerHour, cover } = look;
  if (recallMoney === undefined || mode === 'test' || burnPerHour === 0n) return;
  const { available } = await readBalance(db, orgId, mode, db.clock.now());
  const wanted = meteredTotal(burnPerHour, policy.postEveryMs + policy.marginMs) - cover - available;
  if (wanted <= 0n) return;
  try {
    await recallMoney({ orgId, mode, amount: wanted });
  } catch (error) {
    log.warn({ err: error, orgId }, 'leased credit could not be recalled');
  }
}

/** Locks the running meters, so that no renewal moves money between holds and balance meanwhile. */
function updateWallet(db: Db, wallet: WalletRef, settings: SweepSettings): Promise<boolean> {
  const { policy } = settings;
  return db.transaction({ name: 'walk ladder', isolation }, async (tx) => {
    const now = tx.clock.now();
    const standing = await lockDunningState(tx, wallet, now);
    let meters = await lockRunningMeters(tx, wallet.orgId, wallet.mode);
    const balance = await readBalance(tx, wallet.orgId, wallet.mode, now);
    const burn = burnRateOf(meters, now);
    const runway = runwayMs(burn, balance.available);
    const move = dunningTransitionOf(standing.step, runway);
    if (move !== null) {
      await applyDunningTransition(tx, wallet, move, { now, data: balanceEventData(balance, burn, runway) });
    }
    if (needsEqualizing(burn, runway, now, policy))
      meters = await equalizeHolds(tx, meters, balance.available, { ...settings, now });
    if ((move?.step ?? standing.step) === 'empty') {
      await requireStopsOfWallet(tx, wallet, { now, since: move === null ? standing.since : now });
    } else if (isBudgetExhausting(burnRateOf(meters, now), runway, now, policy)) {
      const dryBy = new Date(now.getTime() + policy.stopAheadMs);
      await requireStopsOfExhausted(tx, wallet, {
        now,
        dryBy,
        since: new Date(now.getTime() - policy.postEveryMs),
      });
    }
    return move !== null;
  });
}

async function applyDunningTransition(
  tx: Tx,
  wallet: WalletRef,
  move: DunningTransition,
  { now, data }: { readonly now: Date; readonly data: EventData<'balance.low'> },
): Promise<void> {
  await setLevel(tx, wallet, move.step, now);
  if (move.recovered) await cancelBalanceActions(tx, wallet, now);
  if (move.announce !== null) {
    await appendOutbox(tx, {
      kind: 'event',
      type: move.announce,
      orgId: wallet.orgId,
      mode: wallet.mode,
      actor: { kind: 'system', id: 'metering' },
      resource: { kind: 'balance', id: wallet.orgId },
      data,
      occurredAt: now,
    });
  }
  transitionsCounter.add(1, { step: move.step });
}

async function equalizeHolds(
  tx: Tx,
  meters: readonly Meter[],
  available: NanoUsd,
  settings: AtTime,
): Promise<readonly Meter[]> {
  const { now, policy } = settings;
  const targets = equalizedHoldTargets(meters, available, now, policy);
  const plans = meters.map((meter) => planPosting(meter, now, policy, targets.get(meter.id)));
  // Shrinking holds come first, so that growing holds can use the released money.
  const growth = (plan: (typeof plans)[number]): bigint => plan.target - plan.meter.held;
  return settleMeters(
    tx,
    plans.toSorted((left, right) => (growth(left) < growth(right) ? -1 : 1)),
    settings,
  );
}

/** Claims and sweeps shards that no worker has swept for `everyMs`. Returns their number. */
export async function sweepDueShards(
  db: Db,
  options: Omit<SweepOptions, 'shards'> & { readonly everyMs: number; readonly limit: number },
): Promise<number> {
  const { everyMs, limit, log } = options;
  const { shards, at } = await db.transaction({ name: 'take meter shards', isolation }, async (tx) => {
    const now = tx.clock.now();
    const unsweptSince = new Date(now.getTime() - everyMs);
    return { shards: await claimMeterShards(tx, { now, unsweptSince, limit }), at: now };
  });
  if (shards.length === 0) return 0;
  try {
    await sweepMeters(db, { ...options, shards });
  } catch (error) {
    await db
      .transaction({ name: 'give meter shards back', isolation }, (tx) =>
        releaseMeterShards(tx, { shards, at, everyMs }),
      )
      .catch((problem: unknown) =>
        log.warn({ err: problem }, 'releasing meter shards failed; they wait for the next sweep'),
      );
    throw error;
  }
  return shards.length;
}
