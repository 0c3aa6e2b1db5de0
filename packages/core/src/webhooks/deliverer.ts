import type { Timer } from '@millrace/platform/clock';
import { startLoop as startUngated, type Loop, type StartLoop } from '@millrace/platform/lifecycle';
import { createItemRunner } from '@millrace/platform/loops';
import { msToSeconds } from '@millrace/platform/money';
import { gauge } from '@millrace/platform/telemetry';
import { attemptDelivery, type DeliveryDeps } from './attempt-delivery.service.ts';
import { webhooksLoop } from './loops.ts';
import {
  claimWebhooks,
  findResourceQueues,
  releaseNow,
  measureQueues,
  readSendState,
  releaseUntilDue,
  renewWebhookLeases,
  type ClaimedWebhook,
  type ResourceQueue,
  type WebhookSendState,
} from './queue.store.ts';

export interface DelivererTuning {
  /** How often to poll for webhooks with due deliveries. Half of it is a delivery's average delay. */
  readonly pollMs: number;
  /** A worker that does not renew for this long loses its webhooks. */
  readonly leaseTtlMs: number;
  /** Maximum number of healthy webhooks that this process sends for concurrently. */
  readonly workingAtOnce: number;
  /** The same for webhooks whose last attempt failed. Separate slots, so that failing webhooks do not delay healthy ones. */
  readonly failingAtOnce: number;
  /** Resources of one healthy webhook that are sent concurrently; one for a failing webhook. */
  readonly perWebhook: number;
  /** A webhook is released after this time, so that other webhooks get a turn. */
  readonly turnMs: number;
  readonly measureMs: number;
}

export const defaultDelivererTuning: DelivererTuning = {
  pollMs: 200,
  leaseTtlMs: 30_000,
  workingAtOnce: 64,
  failingAtOnce: 32,
  perWebhook: 8,
  turnMs: 20_000,
  measureMs: 10_000,
};

export interface DelivererOptions extends DeliveryDeps {
  /** Unique id of this process among all workers; never reused. */
  readonly holder: string;
  /** Starts the loops. In a worker they wait while deliveries may exist that the database does not have. */
  readonly startLoop?: StartLoop;
  readonly tuning?: Partial<DelivererTuning>;
}

export interface Deliverer {
  /** Waits for attempts in progress and releases every webhook. */
  stop(): Promise<void>;
}

const heldGauge = gauge('millrace_webhooks_held');
const oldestGauge = gauge('millrace_webhook_oldest_due_seconds');

/** Any number of workers may run; each webhook is held by one at a time. */
export function startDeliverer(options: DelivererOptions): Deliverer {
  const { db, clock, log, holder, startLoop = startUngated } = options;
  const tuning: DelivererTuning = { ...defaultDelivererTuning, ...options.tuning };
  // A webhook that was lost and claimed again is in the map twice, until its first run notices.
  const running = new Map<Promise<void>, ClaimedWebhook>();
  const stopping = new AbortController();
  const atOnce = tuning.workingAtOnce + tuning.failingAtOnce;
  const runner = createItemRunner({ ...webhooksLoop, atOnce }, { clock, log });

  let turns = 0;
  const run = (held: ClaimedWebhook): void => {
    // After a failure the lease expires, and the next worker that claims the webhook continues.
    const sending: Promise<void> = runner
      .run([held], {
        // Each turn is a new item: the lease, not the item runner, says when the webhook is due again.
        key: ({ id }) => `${id} ${(turns += 1)}`,
        work: () => sendDueDeliveries(options, tuning, held, stopping.signal),
      })
      .then(() => void running.delete(sending));
    running.set(sending, held);
  };
  const claim = async (): Promise<'idle'> => {
    const failingNow = [...running.values()].filter(({ wasFailing }) => wasFailing).length;
    const working = tuning.workingAtOnce - (running.size - failingNow);
    const failing = tuning.failingAtOnce - failingNow;
    if (working === 0 && failing === 0) return 'idle';
    const { leaseTtlMs: ttlMs } = tuning;
    const taken = await claimWebhooks(db, { holder, now: db.clock.now(), ttlMs, working, failing });
    for (const held of taken) run(held);
    return 'idle';
  };
  const loop = (name: string, idleMs: number, step: () => Promise<'idle'>): Loop =>
    startLoop({ name, clock, log, idleMs }, step);
  const loops = [
    loop('claim webhooks', tuning.pollMs, claim),
    // Three renewals fit into one TTL, so one lost renewal has no effect.
    loop('keep webhooks', Math.floor(tuning.leaseTtlMs * 0.3), async () => {
      if (running.size > 0) await renewWebhookLeases(db, holder, [...running.values()], tuning.leaseTtlMs);
      return 'idle';
    }),
    loop('measure webhooks', tuning.measureMs, async () => {
      heldGauge.record(running.size);
      oldestGauge.record(msToSeconds((await measureQueues(db, db.clock.now())).oldestDueMs));
      return 'idle';
    }),
  ];
  const [claiming, ...others] = loops;
  return {
    stop: async () => {
      stopping.abort();
      await claiming?.stop();
      await Promise.all(running.keys());
      await Promise.all(others.map((other) => other.stop()));
    },
  };
}

/**
 * Sends due deliveries of one webhook until none is due, its turn ends or another worker holds it. Each resource has a
 * queue, sent in order; queues run concurrently, so one slow response delays one resource.
 */
async function sendDueDeliveries(
  options: DelivererOptions,
  tuning: DelivererTuning,
  held: ClaimedWebhook,
  stopping: AbortSignal,
): Promise<void> {
  const { db, clock } = options;
  const queues = new Map<string, Promise<void>>();
  const turnEndsMs = clock.monotonicMs() + tuning.turnMs;
  const isOver = (): boolean => stopping.aborted || clock.monotonicMs() >= turnEndsMs;
  // Re-read while queues run; null when this worker must send no more.
  let state: WebhookSendState | null = null;
  const failures: unknown[] = [];

  const runQueue = async (queue: ResourceQueue): Promise<void> => {
    for (const delivery of queue.deliveries) {
      if (state === null || isOver()) return;
      if (delivery.nextAttemptAt === null || delivery.nextAttemptAt > db.clock.now()) return;
      if (!(await attemptDelivery(options, held, state, delivery))) return;
    }
  };
  const startQueues = async ({ failing }: WebhookSendState): Promise<void> => {
    const limit = (failing ? 1 : tuning.perWebhook) - queues.size;
    if (limit <= 0) return;
    const found = await findResourceQueues(db, held, {
      now: db.clock.now(),
      limit,
      underWay: [...queues.keys()],
    });
    for (const queue of found) {
      const sending = runQueue(queue)
        .catch((error: unknown) => void failures.push(error))
        .then(() => void queues.delete(queue.resourceKey));
      queues.set(queue.resourceKey, sending);
    }
  };
  /** Returns false when there is no more work for now. */
  const step = async (): Promise<boolean> => {
    const read = await readSendState(db, held);
    state = read?.enabled === true ? read : null;
    if (read === null || failures.length > 0) return false;
    if (state !== null) await startQueues(state);
    if (queues.size > 0) await raceWithTimeout(clock, queues, tuning.pollMs);
    else if (await releaseUntilDue(db, held, read.wakes)) return false;
    return true;
  };

  try {
    while (!isOver() && (await step()));
  } finally {
    await Promise.all(queues.values());
  }
  if (failures.length > 0)
    throw new AggregateError(failures, 'The outcome of some deliveries could not be recorded.');
  if (isOver()) await releaseNow(db, held, db.clock.now());
}

/** Waits until a queue ends, or until it is time to poll for new deliveries. */
async function raceWithTimeout(
  clock: Timer,
  queues: ReadonlyMap<string, Promise<void>>,
  lookAgainMs: number,
): Promise<void> {
  const waiting = new AbortController();
  const soon = clock.sleep(lookAgainMs, waiting.signal).catch(() => undefined);
  await Promise.race([...queues.values(), soon]);
  waiting.abort();
}
