import type { Random } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import type { CoreStack } from '../../stack/core-stack.ts';

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
  readonly progress: () => number;
  readonly signal: AbortSignal;
  readonly note: (text: string) => void;
}

type KillTarget = 'api' | 'worker' | 'restate' | 'engine';

/** A fixed order, so that few kills reach every kind of target; the process is chosen at random. */
const killOrder: readonly KillTarget[] = ['worker', 'engine', 'restate', 'api', 'worker', 'engine'];

/** Kills one process or engine at a time and restarts it a moment later, until `kills` is reached. */
export async function killAtRandom(stack: CoreStack, random: Random, options: ChaosOptions): Promise<Kills> {
  const kills = { total: 0, api: 0, worker: 0, restate: 0, engine: 0, wipes: 0 };
  // The last kills follow the last rentals, so this loop ends after the tenants.
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
    // Spread wipes over the run, so that Restate has work to lose.
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
