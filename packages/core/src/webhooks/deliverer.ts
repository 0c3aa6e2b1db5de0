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
  /** How often to look for webhooks with something due: half of it is the delay that a delivery sees on average. */
  readonly pollMs: number;
  /** A worker that is silent this long loses its webhooks. */
  readonly leaseTtlMs: number;
  /** For how many webhooks this process sends at once that work. */
  readonly workingAtOnce: number;
  /** And for how many whose last attempt failed: these have places of their own, so that they keep the others from none. */
  readonly failingAtOnce: number;
  /** How many things of one webhook are sent about at once, while it works; one while it does not. */
  readonly perWebhook: number;
  /** After this long a webhook is given back, so that others have their turn. */
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
  /** Names this process among all workers; never used twice. */
  readonly holder: string;
  /** Starts the loops. In a worker they wait while deliveries may have been made that the database does not know. */
  readonly startLoop?: StartLoop;
  readonly tuning?: Partial<DelivererTuning>;
}

export interface Deliverer {
  /** Lets what is under way end and gives every webhook back. */
  stop(): Promise<void>;
}

const heldGauge = gauge('millrace_webhooks_held', 'Webhooks that this process is sending for');
const oldestGauge = gauge(
  'millrace_webhook_oldest_due_seconds',
  'For how long a webhook that works has had something due that nobody sends',
);

/** Starts sending. Any number of workers may; each webhook is one worker's at a time. */
export function startDeliverer(options: DelivererOptions): Deliverer {
  const { db, clock, log, holder, startLoop = startUngated } = options;
  const tuning: DelivererTuning = { ...defaultDelivererTuning, ...options.tuning };
  // A webhook that was lost and taken again is in it twice, until its first sending has found out.
  const running = new Map<Promise<void>, ClaimedWebhook>();
  const stopping = new AbortController();
  const atOnce = tuning.workingAtOnce + tuning.failingAtOnce;
  const runner = createItemRunner({ ...webhooksLoop, atOnce }, { clock, log });

  let turns = 0;
  const run = (held: ClaimedWebhook): void => {
    // After a failure its lease runs out, and the worker that takes it up next goes on.
    const sending: Promise<void> = runner
      .run([held], {
        // A turn is never the same item as an earlier one: the lease says when the webhook is due again.
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
    // Three renewals fit into one time to live, so that one lost renewal costs nothing.
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
 * Sends what is due of one webhook until nothing is, its turn is over or it is another worker's. What is about one thing
 * goes one after the other, in a lane; lanes go side by side, so that one slow answer holds up one thing.
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
  // Read again and again while lanes are under way; null once there is nothing more for us to send.
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
  /** False when there is nothing more to do for now. */
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
    throw new AggregateError(failures, 'Some of what was sent could not be written down.');
  if (isOver()) await releaseNow(db, held, db.clock.now());
}

/** Until one of them is done, or it is time to look for what came meanwhile. */
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
