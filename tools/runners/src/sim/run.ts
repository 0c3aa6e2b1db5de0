import { errorText } from '../common/cli.ts';
import { createRandom } from '@millrace/testing/random';
import type { Sim } from './define.ts';

export interface Failure {
  /** The event after which the failure was found, counted from 0. */
  readonly event: number;
  readonly action: string;
  /** The action or validator that failed. */
  readonly where: string;
  readonly message: string;
}

export interface SimResult {
  readonly failure: Failure | null;
  readonly happened: Readonly<Record<string, number>>;
  readonly trace: readonly { readonly event: number; readonly action: string }[];
}

const traceLength = 20;

/** Event n draws from a random stream of the seed and n, so it makes the same choices whichever other events run. */
export async function runEvents(
  sim: Sim<unknown>,
  seed: number,
  events: Iterable<number>,
): Promise<SimResult> {
  const root = createRandom(seed);
  const entries = Object.entries(sim.actions).map(
    ([name, action]) => [action.weight, { name, action }] as const,
  );
  const happened: Record<string, number> = {};
  const trace: { event: number; action: string }[] = [];
  const state = await sim.init(root.fork(-1));
  let failure: Failure | null = null;
  let last = { event: 0, action: 'init' };
  let unvalidated = true;
  try {
    for (const event of events) {
      const random = root.fork(event);
      const { name, action } = random.weighted(entries);
      if (action.when && !action.when(state)) continue;
      last = { event, action: name };
      trace.push(last);
      if (trace.length > traceLength) trace.shift();
      happened[name] = (happened[name] ?? 0) + 1;
      failure = await attempt(last, name, () => action.run(state, random));
      unvalidated = (event + 1) % (sim.validateEvery ?? 1) !== 0;
      if (!failure && !unvalidated) failure = await validate(sim, state, last);
      if (failure) break;
    }
    if (!failure && unvalidated) failure = await validate(sim, state, last);
  } finally {
    await sim.close?.(state);
  }
  return { failure, happened, trace };
}

type FailurePosition = Pick<Failure, 'event' | 'action'>;

async function validate(sim: Sim<unknown>, state: unknown, spot: FailurePosition): Promise<Failure | null> {
  for (const [name, validator] of Object.entries(sim.validators)) {
    const failure = await attempt(spot, name, () => validator(state));
    if (failure) return failure;
  }
  return null;
}

async function attempt(
  spot: FailurePosition,
  where: string,
  work: () => string | void | Promise<string | void>,
): Promise<Failure | null> {
  try {
    const violation = await work();
    return typeof violation === 'string' ? { ...spot, where, message: violation } : null;
  } catch (error) {
    return { ...spot, where, message: errorText(error) };
  }
}

export function allEvents(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
