import type { Random } from '@millrace/runners';
import { usageSubjects } from '@millrace/core/inference';
import { systemClock } from '@millrace/platform/clock';
import { limitStream } from '@millrace/testing';
import type { InferenceStack } from '../../stack/inference-stack.ts';
import { stalledMs, type Stall } from '../stalls.ts';
import type { RequestResult } from './load.ts';

/** The injected faults, and which of their effects clients may notice. */

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

export const faultTitles: Readonly<Record<FaultTarget, string>> = {
  gateway: 'kill -9 of a gateway',
  nats: 'kill -9 of a NATS node',
  valkey: 'kill -9 of Valkey',
  postgres: 'kill -9 of PostgreSQL',
  sink: 'kill -9 of the sink',
  upstream: 'kill -9 of an upstream',
  quorum: 'NATS without quorum for 60 s',
  full: 'usage stream full for 10 s',
  frozen: 'a gateway frozen until it was declared dead, then thawed',
};

export interface InjectedFault {
  readonly target: FaultTarget;
  readonly struckMs: number;
  /** When the target ran again; clients may notice effects a little longer. */
  readonly backMs: number;
}

interface Fault {
  readonly inject: (stack: InferenceStack, random: Random) => Promise<() => Promise<void>>;
  readonly downMs: number;
  /** Time after the end of the fault in which clients may notice it, on a machine of the promised speed. */
  readonly afterMs: number;
  /** Which failed requests the fault explains; null if clients must notice nothing. */
  readonly explains: ((result: RequestResult) => boolean) | null;
}

/** Longer than the time after which the proof's lender declares a gateway dead. */
const FROZEN_MS = 110_000;

const isUnavailable = ({ outcome, status }: RequestResult): boolean =>
  outcome === 'refused' && status === 503;

export const faults: Readonly<Record<FaultTarget, Fault>> = {
  // Only requests at the killed gateway break.
  gateway: {
    inject: async ({ gateways }, random) => {
      const victim = random.pick(gateways);
      await victim.kill();
      return () => victim.start();
    },
    downMs: 1_000,
    afterMs: 500,
    explains: ({ outcome }) => outcome === 'broken',
  },
  // If the dead node led the key feed's bucket, electing another leader takes four to nine seconds, and a gateway without news of
  // revocations for five seconds admits no requests. Running streams are not affected. If the node led the usage stream, usage
  // waits in the gateways' memory for as long.
  nats: {
    ...node((random) => `nats-${random.int(1, 3)}`),
    downMs: 1_500,
    afterMs: 10_000,
    explains: isUnavailable,
  },
  // The leases are lost, and new ones must be granted.
  valkey: {
    inject: async ({ valkey }) => {
      await valkey.restart();
      return async () => undefined;
    },
    downMs: 0,
    afterMs: 5_000,
    explains: isUnavailable,
  },
  postgres: { ...node(() => 'postgres'), downMs: 500, afterMs: 0, explains: null },
  sink: {
    inject: async ({ workers }) => {
      await Promise.all(workers.map((worker) => worker.kill()));
      return async () => {
        await Promise.all(workers.map((worker) => worker.start()));
      };
    },
    downMs: 500,
    afterMs: 0,
    explains: null,
  },
  // A started stream cannot continue at another engine. A request without data yet is retried unnoticed.
  upstream: {
    inject: async ({ llamas }, random) => {
      const victim = random.pick(llamas);
      await victim.crash();
      return () => victim.restart();
    },
    downMs: 1_500,
    afterMs: 500,
    explains: ({ outcome, hasReceivedData }) => outcome === 'errored' && hasReceivedData,
  },
  // Usage cannot be stored and keys cannot be trusted, so gateways stop admitting requests after a while.
  quorum: {
    inject: async (stack) => {
      await Promise.all(['nats-1', 'nats-2'].map((name) => stack.killEngineNode(name)));
      return async () => {
        await Promise.all(['nats-1', 'nats-2'].map((name) => stack.startEngineNode(name)));
      };
    },
    downMs: 60_000,
    afterMs: 15_000,
    explains: isUnavailable,
  },
  full: fillStream(),
  // Requests at the frozen gateway wait. When it thaws, its end markers have already been published for it.
  frozen: {
    inject: async ({ gateways }, random) => {
      const victim = random.pick(gateways);
      victim.freeze();
      return async () => victim.thaw();
    },
    downMs: FROZEN_MS,
    afterMs: 5_000,
    explains: () => true,
  },
};

/** During these faults usage waits in the memory of the gateways. */
export const affectsBroker = (target: FaultTarget): boolean =>
  target === 'nats' || target === 'quorum' || target === 'full';

/** A full stream refuses usage. Gateways keep it and retry, so clients notice nothing until the memory limit. */
function fillStream(): Fault {
  return {
    inject: async ({ endpoints, natsPrefix }) => {
      const { stream } = usageSubjects(natsPrefix, 1);
      await limitStream(endpoints.natsUrls, stream, 1);
      return () => limitStream(endpoints.natsUrls, stream, 64 * 1_048_576);
    },
    downMs: 10_000,
    afterMs: 0,
    explains: null,
  };
}

function node(name: (random: Random) => string): Pick<Fault, 'inject'> {
  return {
    inject: async (stack, random) => {
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
  const { inject, downMs } = faults[target];
  const struckMs = systemClock.monotonicMs();
  const bringBack = await inject(stack, random);
  await systemClock.sleep(downMs);
  await bringBack();
  return { target, struckMs, backMs: systemClock.monotonicMs() };
}

export interface RunConditions {
  readonly injected: readonly InjectedFault[];
  /** How many times slower than promised the machine is. */
  readonly slowness: number;
  readonly stalls: readonly Stall[];
}

/** Stalls do not count towards the time since a fault. */
export function isExplainedByFault(
  result: RequestResult,
  { injected, slowness, stalls }: RunConditions,
): boolean {
  return injected.some(({ target, struckMs, backMs }) => {
    const { explains, afterMs } = faults[target];
    const sinceMs = result.startedMs - backMs - stalledMs(stalls, backMs, result.startedMs);
    const overlaps = result.endedMs >= struckMs && sinceMs <= afterMs * slowness;
    return explains !== null && overlaps && explains(result);
  });
}
