import type { ProofReport, ProofRun, Random } from '@millrace/kits';
import { systemClock } from '@millrace/platform/clock';
import { openRentalStack, type RentalStack } from '../../stack/rental-stack.ts';
import { plantPrice, seedTenant, type StackTenant } from '../../stack/tenant.ts';
import { killAtRandom, type Kills } from './chaos.ts';
import { judgeEnd, waitForRest, type Judgement } from './judge.ts';
import type { Kind } from './kinds.ts';
import { rentAtRandom, type Story } from './stories.ts';

/** How much is done, and how much is killed meanwhile. */
export interface Size {
  readonly rentals: number;
  readonly kills: number;
  readonly wipes: number;
  readonly tenants: number;
}

/** After the last blow everything must have come to rest within this time. */
const CONVERGED_WITHIN_MS = 90_000;

/** The same struggle for every kind of rental: they are made, proven, billed and removed by one mechanism. */
export async function proveKind(run: ProofRun, kind: Kind, size: Size): Promise<ProofReport> {
  const stack = await openRentalStack({ workers: 2, offer: kind.offer });
  try {
    await plantPrice(stack);
    const tenants: StackTenant[] = [];
    for (let nth = 0; nth < size.tenants; nth += 1) tenants.push(await seedTenant(stack, 1_000));
    const { stories, kills } = await struggle(run, stack, tenants, { ...size, kind });
    const restMs = await waitForRest(stack, CONVERGED_WITHIN_MS);
    const judgement = await judgeEnd(stack, tenants, stories, kind);
    return report(size, stories, kills, restMs, judgement);
  } finally {
    await stack.close();
  }
}

async function struggle(
  run: ProofRun,
  stack: RentalStack,
  tenants: readonly StackTenant[],
  size: Size & { readonly kind: Kind },
): Promise<{ readonly stories: readonly Story[]; readonly kills: Kills }> {
  const stories: Story[] = [];
  const random: Random = run.random.fork(1);
  const over = new AbortController();
  const kills = killAtRandom(stack, run.random.fork(2), {
    ...size,
    // Spread over the run by what was done, not by time: a busy machine has as many kills as an idle one.
    progress: () => stories.length,
    signal: over.signal,
    note: run.note,
  });
  const lines = tenants.map(async (tenant, line) => {
    for (let nth = line; nth < size.rentals; nth += tenants.length) {
      const story: Story = { tenant, nth, kind: size.kind, id: null, refusals: 0, outcome: 'unknown' };
      stories.push(story);
      await rentAtRandom(story, random.fork(nth));
      await systemClock.sleep(random.int(0, 400));
    }
  });
  const told = Promise.all(lines).finally(() => over.abort());
  const [, made] = await Promise.all([told, kills]);
  return { stories, kills: made };
}

function report(
  size: Size,
  stories: readonly Story[],
  kills: Kills,
  restMs: number | null,
  judgement: Judgement,
): ProofReport {
  const count = (outcome: Story['outcome']): number =>
    stories.filter((story) => story.outcome === outcome).length;
  const failures = [...judgement.failures];
  if (restMs === null) failures.push(`not at rest ${CONVERGED_WITHIN_MS} ms after the last kill`);
  if (kills.total < size.kills) failures.push(`only ${kills.total} of ${size.kills} kills were made`);
  return {
    figures: {
      'rentals accepted': stories.length,
      'left running': count('left running'),
      'ended by their tenant': count('ended'),
      'refused for want of room before': stories.reduce((sum, { refusals }) => sum + refusals, 0),
      'kill -9 of an api': kills.api,
      'kill -9 of a worker': kills.worker,
      'kill -9 of Restate': kills.restate,
      'kill -9 of an Incus host': kills.incus,
      'Restate wiped': kills.wipes,
      'at rest after the last kill': restMs === null ? 'never' : `${Math.round(restMs / 100) / 10} s`,
      ...judgement.figures,
    },
    failures,
  };
}
