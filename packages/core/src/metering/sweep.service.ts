import type { EventData } from '@millrace/contract';
import type { Db, Tx } from '@millrace/platform/db';
import type { Logger } from '@millrace/platform/log';
import { zeroUsd, type NanoUsd } from '@millrace/platform/money';
import { appendOutbox } from '@millrace/platform/outbox';
import { counter } from '@millrace/platform/telemetry';
import { applyLedger, readBalance, readBalances, runwayMs, walletKey, type Done } from '../ledger/index.ts';
import { burnOf, describeWallet, isDry, isUneven, levelTargets, moveOf, type LadderMove } from './ladder.ts';
import {
  cancelForBalance,
  cancelNoLongerDry,
  lockLadder,
  lookAtWallets,
  requireForAll,
  requireForDry,
  setStep,
  type Wallet,
  type WalletLook,
} from './ladder.store.ts';
import { lockRunning, postpone, saveMeters, takeDue, takeShards } from './meters.store.ts';
import type { Meter } from './metering.ts';
import { planPosting, type Plan } from './plans.ts';
import { defaultPolicy, type MeteringPolicy } from './policy.ts';

const posted = counter('millrace_metering_postings_total', 'Meters posted by this process');
const refusals = counter(
  'millrace_metering_refused_total',
  'Meters the ledger would not post; each needs a person',
);
const shortfalls = counter(
  'millrace_metering_shortfalls_total',
  'Postings that hold and balance did not cover',
);
const moves = counter(
  'millrace_wallet_ladder_moves_total',
  'Wallets that came to another step of the ladder',
);

export interface SweepOptions {
  readonly shards: readonly number[];
  readonly now: Date;
  readonly log: Pick<Logger, 'warn' | 'error'>;
  /** How many meters to post in one transaction. */
  readonly batchSize?: number;
  readonly policy?: MeteringPolicy;
}

export interface SweepReport {
  readonly posted: number;
  readonly wallets: number;
  readonly moved: number;
}

type Settings = Required<SweepOptions>;

const BATCH = 500;
const WALLETS_AT_ONCE = 5_000;
const isolation = 'read committed';

/**
 * One sweep of some shards: posts what is due and renews its holds, then looks at every wallet. Any number of workers
 * may sweep the same shard: what one has taken the others pass over, and each step of a ladder is taken once.
 */
export async function sweepMeters(db: Db, options: SweepOptions): Promise<SweepReport> {
  const settings = { batchSize: BATCH, policy: defaultPolicy, ...options };
  const count = await postDue(db, settings);
  return { posted: count, ...(await walkLadders(db, settings)) };
}

async function postDue(db: Db, settings: Settings): Promise<number> {
  let total = 0;
  for (;;) {
    const taken = await db.transaction({ name: 'post meters', isolation }, (tx) => postBatch(tx, settings));
    total += taken;
    if (taken < settings.batchSize) return total;
  }
}

async function postBatch(tx: Tx, { shards, now, batchSize, policy, log }: Settings): Promise<number> {
  const due = await takeDue(tx, { shards, now, limit: batchSize });
  await settleAll(
    tx,
    due.map((meter) => planPosting(meter, now, policy)),
    { now, policy, log },
  );
  return due.length;
}

/**
 * All in one visit to the ledger. A meter that the ledger refuses has lost its hold: it is left as it was, named in the
 * log, and does not keep the others from being posted.
 */
async function settleAll(
  tx: Tx,
  plans: readonly Plan[],
  { now, policy, log }: Pick<Settings, 'now' | 'policy' | 'log'>,
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
    if (answers.every((answer): answer is Done => answer.ok && !answer.replayed)) {
      changes.push({ before: plan.meter, after: plan.finish(answers) });
      if (answers.some((answer) => answer.shortfall > 0n)) shortfalls.add(1);
    } else {
      stuck.push(plan.meter);
      log.error({ meterId: plan.meter.id, orgId: plan.meter.orgId, answers }, 'a meter cannot be posted');
    }
  }
  await saveMeters(tx, changes);
  await postpone(
    tx,
    stuck.map((meter) => meter.id),
    new Date(now.getTime() + policy.marginMs),
  );
  posted.add(changes.length);
  refusals.add(stuck.length);
  return [...changes.map((change) => change.after), ...stuck];
}

/** Looks at every wallet at once, and then closely at those where something may have to be done. */
async function walkLadders(db: Db, settings: Settings): Promise<{ wallets: number; moved: number }> {
  const { shards, now } = settings;
  const looks = await lookAtWallets(db, shards, now);
  let moved = 0;
  for (let first = 0; first < looks.length; first += WALLETS_AT_ONCE) {
    const some = looks.slice(first, first + WALLETS_AT_ONCE);
    const balances = await readBalances(db, some, now);
    for (const look of some) {
      const runway = runwayMs(look, balances.get(walletKey(look))?.available ?? zeroUsd);
      if (needsAttention(look, runway, settings) && (await attend(db, look, settings))) moved += 1;
    }
  }
  const times = { now, dryBy: new Date(now.getTime() + settings.policy.stopAheadMs) };
  await db.transaction({ name: 'call off stops', isolation }, (tx) => cancelNoLongerDry(tx, times));
  return { wallets: looks.length, moved };
}

function needsAttention(look: WalletLook, runway: number | null, { now, policy }: Settings): boolean {
  return (
    look.step === 'empty' ||
    moveOf(look.step, runway) !== null ||
    isUneven(look, runway, now, policy) ||
    isDry(look, runway, now, policy)
  );
}

/**
 * Looks closely at one wallet, and answers whether it came to another step. Its running meters are locked, so that no
 * renewal moves money between the meters and the balance while they are read.
 */
function attend(db: Db, wallet: Wallet, settings: Settings): Promise<boolean> {
  const { now, policy } = settings;
  return db.transaction({ name: 'walk ladder', isolation }, async (tx) => {
    const standing = await lockLadder(tx, wallet, now);
    let meters = await lockRunning(tx, wallet.orgId, wallet.mode);
    const balance = await readBalance(tx, wallet.orgId, wallet.mode, now);
    const burn = burnOf(meters, now);
    const runway = runwayMs(burn, balance.available);
    const move = moveOf(standing.step, runway);
    if (move !== null) {
      await makeMove(tx, wallet, move, { now, data: describeWallet(balance, burn, runway) });
    }
    if (isUneven(burn, runway, now, policy)) meters = await level(tx, meters, balance.available, settings);
    if ((move?.step ?? standing.step) === 'empty') {
      await requireForAll(tx, wallet, { now, since: move === null ? standing.since : now });
    } else if (isDry(burnOf(meters, now), runway, now, policy)) {
      const dryBy = new Date(now.getTime() + policy.stopAheadMs);
      await requireForDry(tx, wallet, { now, dryBy, since: new Date(now.getTime() - policy.postEveryMs) });
    }
    return move !== null;
  });
}

async function makeMove(
  tx: Tx,
  wallet: Wallet,
  move: LadderMove,
  { now, data }: { readonly now: Date; readonly data: EventData<'balance.low'> },
): Promise<void> {
  await setStep(tx, wallet, move.step, now);
  if (move.recovered) await cancelForBalance(tx, wallet, now);
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
  moves.add(1, { step: move.step });
}

/** Shares out what the wallet has left, and answers its meters as they are then. */
async function level(
  tx: Tx,
  meters: readonly Meter[],
  available: NanoUsd,
  settings: Settings,
): Promise<readonly Meter[]> {
  const { now, policy } = settings;
  const targets = levelTargets(meters, available, now, policy);
  const plans = meters.map((meter) => planPosting(meter, now, policy, targets.get(meter.id)));
  // Who gives comes first: what is let go can then be taken by the others.
  const growth = (plan: (typeof plans)[number]): bigint => plan.target - plan.meter.held;
  return settleAll(
    tx,
    plans.toSorted((left, right) => (growth(left) < growth(right) ? -1 : 1)),
    settings,
  );
}

/** Takes up shards that no worker has swept for `everyMs` and sweeps them. Answers how many there were. */
export async function sweepDueShards(
  db: Db,
  options: Omit<SweepOptions, 'shards'> & { readonly everyMs: number; readonly limit: number },
): Promise<number> {
  const { now, everyMs, limit } = options;
  const shards = await db.transaction({ name: 'take meter shards', isolation }, (tx) =>
    takeShards(tx, { now, unsweptSince: new Date(now.getTime() - everyMs), limit }),
  );
  if (shards.length > 0) await sweepMeters(db, { ...options, shards });
  return shards.length;
}
