import type { Timer } from '@millrace/platform/clock';
import { isUnavailable, type Db } from '@millrace/platform/db';
import { startLoop as startUngated, type Loop, type StartLoop } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import { msToSeconds } from '@millrace/platform/money';
import type { NatsClient } from '@millrace/platform/nats';
import type { RestateIngress } from '@millrace/platform/restate';
import { gauge } from '@millrace/platform/telemetry';
import { dispatchCommands } from './dispatch-commands.ts';
import type { EventChannels } from './events.ts';
import { deleteDeadRelays } from './shard-leases.store.ts';
import { createMover } from './move-events.ts';
import { findWaitingShards, measureOutbox, type LeaseProof, type WaitingShards } from './outbox.store.ts';
import { publishEvents } from './publish-events.ts';
import { createShardLeases } from './shard-leases.ts';

export interface RelayTuning {
  /** A relay that does not renew for this long loses its shards. */
  readonly leaseTtlMs: number;
  /** How often an idle relay polls for new rows. Half of it is an event's average delay. */
  readonly pollMs: number;
  /** How often to poll for events that a dead relay stored and did not publish. */
  readonly publishIdleMs: number;
  readonly publishTimeoutMs: number;
  readonly dispatchIdleMs: number;
  readonly measureMs: number;
  readonly batchSize: number;
  readonly concurrency: number;
  readonly maxAttempts: number;
  readonly retryMs: { readonly first: number; readonly longest: number };
}

export const defaultRelayTuning: RelayTuning = {
  leaseTtlMs: 10_000,
  pollMs: 15,
  publishIdleMs: 500,
  publishTimeoutMs: 2_000,
  dispatchIdleMs: 500,
  measureMs: 10_000,
  batchSize: 500,
  concurrency: 16,
  maxAttempts: 12,
  retryMs: { first: 500, longest: 60_000 },
};

export interface RelayOptions {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Logger;
  /** Unique id of this process among all relays; never reused. */
  readonly holder: string;
  readonly channels: EventChannels;
  readonly nats: Pick<NatsClient, 'publish'>;
  readonly restate: RestateIngress;
  readonly tuning?: Partial<RelayTuning>;
  /** Starts the loops. In a worker they wait while event numbers may exist that the database does not have. */
  readonly startLoop?: StartLoop;
}

export interface Relay {
  readonly holder: string;
  shardsHeld(): readonly number[];
  /** Ends the running steps and releases every shard, so that another relay continues at once. */
  stop(): Promise<void>;
}

const DEAD_RELAY_RETENTION_MS = 24 * 3_600_000;

const waitingGauge = gauge('millrace_outbox_waiting');
const parkedGauge = gauge('millrace_outbox_parked');
const oldestGauge = gauge('millrace_outbox_oldest_seconds');

/** Resolves with the first leases claimed, unless the database is unavailable: then the lease loop claims them later. */
export async function startRelay(options: RelayOptions): Promise<Relay> {
  const { db, clock, log, holder, channels, nats, restate, startLoop = startUngated } = options;
  const tuning: RelayTuning = { ...defaultRelayTuning, ...options.tuning };
  const shardLeases = createShardLeases({ db, holder, ttlMs: tuning.leaseTtlMs });
  const shardsHeld = (): readonly number[] => shardLeases.held().map((lease) => lease.shard);
  const proofFor = (shards: readonly number[]): LeaseProof => {
    const wanted = new Set(shards);
    return { holder, leases: shardLeases.held().filter((lease) => wanted.has(lease.shard)) };
  };
  await shardLeases.keep().catch((error: unknown) => {
    if (!isUnavailable(error)) throw error;
    log.warn({ err: error }, 'first relay leases not claimed: database unavailable');
  });

  const loops: Loop[] = [];
  const loop = (
    name: string,
    idleMs: number,
    step: (signal: AbortSignal) => Promise<'busy' | 'idle'>,
  ): Loop => {
    const started = startLoop({ name, clock, log, idleMs }, step);
    loops.push(started);
    return started;
  };

  // Three renewals fit into one TTL, so one lost renewal has no effect.
  loop('relay leases', Math.floor(tuning.leaseTtlMs * 0.3), async () => {
    await shardLeases.keep();
    return 'idle';
  });
  const publisher = loop('publish events', tuning.publishIdleMs, async (signal) => {
    const count = await publishEvents({ ...tuning, db, nats, channels, signal }, shardsHeld());
    return count > 0 ? 'busy' : 'idle';
  });
  const mover = createMover({ ...tuning, db, clock, log });
  let found: { readonly atMs: number; readonly commandShards: readonly number[] } = {
    atMs: Number.NEGATIVE_INFINITY,
    commandShards: [],
  };
  const findShards = async (): Promise<WaitingShards> => {
    const waiting = await findWaitingShards(db, shardsHeld(), mover.postponed());
    found = { atMs: clock.monotonicMs(), commandShards: waiting.commandShards };
    return waiting;
  };
  const dispatcher = loop('dispatch commands', tuning.dispatchIdleMs, async () => {
    // The mover finds commands too, but commands must not wait while the mover waits for the database.
    const isRecent = found.atMs + tuning.dispatchIdleMs > clock.monotonicMs();
    const { commandShards } = isRecent ? found : await findShards();
    const count = await dispatchCommands({ ...tuning, db, clock, log, restate }, proofFor(commandShards));
    return count > 0 ? 'busy' : 'idle';
  });
  loop('move events', tuning.pollMs, async () => {
    const { eventShards, commandShards } = await findShards();
    if (commandShards.length > 0) dispatcher.wake();
    const count = await mover.move(proofFor(eventShards));
    if (count === 0) return 'idle';
    publisher.wake();
    return 'busy';
  });
  loop('measure outbox', tuning.measureMs, async () => {
    const depth = await measureOutbox(db);
    waitingGauge.record(depth.waiting);
    parkedGauge.record(depth.parked);
    oldestGauge.record(msToSeconds(depth.oldestWaitingMs));
    await deleteDeadRelays(db, DEAD_RELAY_RETENTION_MS);
    return 'idle';
  });

  return {
    holder,
    shardsHeld,
    stop: async () => {
      await Promise.all(loops.map((running) => running.stop()));
      await shardLeases.release();
    },
  };
}
