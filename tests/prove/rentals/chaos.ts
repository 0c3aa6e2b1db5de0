import type { Random } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import type { CoreStack } from '../../stack/core-stack.ts';

/** Who was killed how often. */
export interface Kills {
  readonly total: number;
  readonly api: number;
  readonly worker: number;
  readonly restate: number;
  readonly engine: number;
  readonly wipes: number;
}

export interface ChaosOptions {
  readonly rentals: number;
  readonly kills: number;
  readonly wipes: number;
  /** How many rentals have been begun. */
  readonly progress: () => number;
  readonly signal: AbortSignal;
  readonly note: (text: string) => void;
}

type KillTarget = 'api' | 'worker' | 'restate' | 'engine';

/** Victims in turn, so that each is hit however few kills there are; which one of a kind is the dice's. */
const killOrder: readonly KillTarget[] = ['worker', 'engine', 'restate', 'api', 'worker', 'engine'];

/** Kills one thing at a time, each brought back a moment later, until as many were killed as asked for. */
export async function killAtRandom(stack: CoreStack, random: Random, options: ChaosOptions): Promise<Kills> {
  const kills = { total: 0, api: 0, worker: 0, restate: 0, engine: 0, wipes: 0 };
  // The last kills come when the last rentals have been begun, so the loop outlives the tenants by them.
  while (kills.total < options.kills) {
    const share = (options.progress() * (options.kills + 1)) / options.rentals;
    const isDue = kills.total < Math.min(options.kills, Math.floor(share)) || options.signal.aborted;
    if (!isDue) {
      await systemClock.sleep(50);
      continue;
    }
    await systemClock.sleep(random.int(0, 1_500));
    const victim = killOrder[kills.total % killOrder.length] ?? 'worker';
    options.note(`kill ${kills.total + 1}: ${victim}`);
    await killTarget(stack, victim, random);
    kills[victim] += 1;
    kills.total += 1;
    // In the middle of each stretch, while there is work to forget.
    if (kills.wipes < Math.round((kills.total * options.wipes) / options.kills)) {
      options.note('Restate is wiped');
      await stack.wipeRestate();
      kills.wipes += 1;
    }
  }
  return kills;
}

async function killTarget(stack: CoreStack, victim: KillTarget, random: Random): Promise<void> {
  const pauseMs = random.int(0, 1_500);
  switch (victim) {
    case 'api':
    case 'worker': {
      const process = victim === 'api' ? stack.api : random.pick(stack.workers);
      await process.kill();
      await systemClock.sleep(pauseMs);
      return process.start();
    }
    case 'restate':
      await stack.killEngineNode('restate');
      await systemClock.sleep(pauseMs);
      return stack.startEngineNode('restate');
    case 'engine': {
      const name = random.pick(stack.killableNodes);
      await stack.killEngineNode(name);
      await systemClock.sleep(pauseMs);
      return stack.startEngineNode(name);
    }
  }
}
