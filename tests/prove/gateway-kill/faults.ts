import type { Random } from '@millrace/runners';
import { usageSubjects } from '@millrace/core/inference';
import { systemClock } from '@millrace/platform/clock';
import { limitStream } from '@millrace/testing';
import type { InferenceStack } from '../../stack/inference-stack.ts';
import { stalledMs, type Stall } from '../stalls.ts';
import type { RequestResult } from './load.ts';

/** What is done to the stack, and what of it clients may notice. */

export type FaultTarget =
  | 'gateway'
  | 'nats'
  | 'valkey'
  | 'postgres'
  | 'sink'
  | 'upstream'
  | 'quorum'
  | 'full'
  | 'frozen';

/** As a figure names it. */
export const faultTitles: Readonly<Record<FaultTarget, string>> = {
  gateway: 'kill -9 of a gateway',
  nats: 'kill -9 of a NATS node',
  valkey: 'kill -9 of Valkey',
  postgres: 'kill -9 of PostgreSQL',
  sink: 'kill -9 of the sink',
  upstream: 'kill -9 of an upstream',
  quorum: 'NATS without quorum for 60 s',
  full: 'usage stream full for 10 s',
  frozen: 'a gateway frozen until it was given up, and thawed',
};

export interface InjectedFault {
  readonly target: FaultTarget;
  readonly struckMs: number;
  /** When it was back; what it does to clients may last a little longer. */
  readonly backMs: number;
}

interface Fault {
  /** Kills, and answers how to bring back. */
  readonly strike: (stack: InferenceStack, random: Random) => Promise<() => Promise<void>>;
  readonly downMs: number;
  /** How long after it is back clients may still notice, on a machine of the promised speed. */
  readonly afterMs: number;
  /** Null: nothing may be noticed. Otherwise what of a request that did not go well is its doing. */
  readonly excuses: ((told: RequestResult) => boolean) | null;
}

/** Longer than it takes to give a gateway up, with the times of the proof that freezes one. */
const FROZEN_MS = 110_000;

const isUnavailable = ({ outcome, status }: RequestResult): boolean =>
  outcome === 'refused' && status === 503;

export const faults: Readonly<Record<FaultTarget, Fault>> = {
  // Only those who were with it: the others are none the wiser.
  gateway: {
    strike: async ({ gateways }, random) => {
      const victim = random.pick(gateways);
      await victim.kill();
      return () => victim.start();
    },
    downMs: 1_000,
    afterMs: 500,
    excuses: ({ outcome }) => outcome === 'broken',
  },
  // Where the dead node led the bucket of the book, the others take four to nine seconds to choose another, and a gateway
  // that has heard nothing of revocations for five admits nobody. Streams that run are not concerned. Where it led the usage
  // stream, what was used waits in the gateways' memory for as long.
  nats: {
    ...node((random) => `nats-${random.int(1, 3)}`),
    downMs: 1_500,
    afterMs: 10_000,
    excuses: isUnavailable,
  },
  // Pots are gone, and leases are made anew.
  valkey: {
    strike: async ({ valkey }) => {
      await valkey.restart();
      return async () => undefined;
    },
    downMs: 0,
    afterMs: 5_000,
    excuses: isUnavailable,
  },
  postgres: { ...node(() => 'postgres'), downMs: 500, afterMs: 0, excuses: null },
  sink: {
    strike: async ({ workers }) => {
      await Promise.all(workers.map((worker) => worker.kill()));
      return async () => {
        await Promise.all(workers.map((worker) => worker.start()));
      };
    },
    downMs: 500,
    afterMs: 0,
    excuses: null,
  },
  // A stream that had begun there cannot go on elsewhere. Whoever had nothing yet notices nothing.
  upstream: {
    strike: async ({ llamas }, random) => {
      const victim = random.pick(llamas);
      await victim.crash();
      return () => victim.restart();
    },
    downMs: 1_500,
    afterMs: 500,
    excuses: ({ outcome, hasBegun }) => outcome === 'errored' && hasBegun,
  },
  // Usage cannot be stored and keys cannot be trusted, so nothing new is admitted after a while.
  quorum: {
    strike: async (stack) => {
      await Promise.all(['nats-1', 'nats-2'].map((name) => stack.killEngineNode(name)));
      return async () => {
        await Promise.all(['nats-1', 'nats-2'].map((name) => stack.startEngineNode(name)));
      };
    },
    downMs: 60_000,
    afterMs: 15_000,
    excuses: isUnavailable,
  },
  full: fillStream(),
  // Whoever is with it waits. It comes back to find that others have spoken for it.
  frozen: {
    strike: async ({ gateways }, random) => {
      const victim = random.pick(gateways);
      victim.freeze();
      return async () => victim.thaw();
    },
    downMs: FROZEN_MS,
    afterMs: 5_000,
    excuses: () => true,
  },
};

/** While it lasts, usage waits in the memory of the gateways. */
export const affectsBroker = (target: FaultTarget): boolean =>
  target === 'nats' || target === 'quorum' || target === 'full';

/** A full stream refuses usage, which gateways keep and offer again: nobody notices until they keep too much. */
function fillStream(): Fault {
  return {
    strike: async ({ endpoints, natsPrefix }) => {
      const { stream } = usageSubjects(natsPrefix, 1);
      await limitStream(endpoints.natsUrls, stream, 1);
      return () => limitStream(endpoints.natsUrls, stream, 64 * 1_048_576);
    },
    downMs: 10_000,
    afterMs: 0,
    excuses: null,
  };
}

function node(name: (random: Random) => string): Pick<Fault, 'strike'> {
  return {
    strike: async (stack, random) => {
      const victim = name(random);
      await stack.killEngineNode(victim);
      return () => stack.startEngineNode(victim);
    },
  };
}

export async function injectFault(
  stack: InferenceStack,
  target: FaultTarget,
  random: Random,
): Promise<InjectedFault> {
  const { strike, downMs } = faults[target];
  const struckMs = systemClock.monotonicMs();
  const bringBack = await strike(stack, random);
  await systemClock.sleep(downMs);
  await bringBack();
  return { target, struckMs, backMs: systemClock.monotonicMs() };
}

/** What happened during the requests. */
export interface RunConditions {
  readonly strikes: readonly InjectedFault[];
  /** How many times slower than promised the machine is. */
  readonly slowness: number;
  readonly stalls: readonly Stall[];
}

/** Whether a strike explains the failure of this request. Stalls do not count towards the time since a strike. */
export function isExplainedByFault(
  told: RequestResult,
  { strikes, slowness, stalls }: RunConditions,
): boolean {
  return strikes.some(({ target, struckMs, backMs }) => {
    const { excuses, afterMs } = faults[target];
    const sinceMs = told.startedMs - backMs - stalledMs(stalls, backMs, told.startedMs);
    const overlaps = told.endedMs >= struckMs && sinceMs <= afterMs * slowness;
    return excuses !== null && overlaps && excuses(told);
  });
}
