import type { ProofReport, ProofRun, Random } from '@millrace/kits';
import { systemClock } from '@millrace/platform/clock';
import type { CoreStack } from '../../stack/core-stack.ts';
import { seedTenant, type StackTenant } from '../../stack/tenant.ts';
import { killAtRandom, type Kills } from './chaos.ts';
import { judgeEnd, waitForRest, type Judgement } from './judge.ts';
import type { Kind, Premises } from './kinds.ts';
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
const MENDED_EVERY_MS = 1_000;

/** The same struggle for every kind of rental: they are made, proven, billed and removed by one mechanism. */
export async function proveKind(run: ProofRun, kind: Kind, size: Size): Promise<ProofReport> {
  const premises = await kind.open();
  const { stack } = premises;
  const rounds = keepMending(premises);
  try {
    const tenants: StackTenant[] = [];
    for (let nth = 0; nth < size.tenants; nth += 1) tenants.push(await seedTenant(stack, 10_000));
    const { stories, kills } = await struggle(run, stack, tenants, { ...size, kind });
    const restMs = await waitForRest(stack, CONVERGED_WITHIN_MS);
    const judgement = await judgeEnd(stack, tenants, stories, kind);
    const mended = await rounds.end();
    return report(size, { stories, kills, restMs, judgement, mended, engineName: premises.engineName });
  } finally {
    await rounds.end();
    await stack.close();
  }
}

/** Somebody goes round all the time; what cannot be done in one round, as while the engine is dead, is done in another. */
function keepMending({ mend }: Premises): { end(): Promise<number> } {
  const over = new AbortController();
  let mended = 0;
  const rounds = (async () => {
    while (!over.signal.aborted) {
      mended += await mend().catch(() => 0);
      await systemClock.sleep(MENDED_EVERY_MS, over.signal).catch(() => undefined);
    }
  })();
  return {
    end: async () => {
      over.abort();
      await rounds;
      return mended;
    },
  };
}

async function struggle(
  run: ProofRun,
  stack: CoreStack,
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

interface Happened {
  readonly stories: readonly Story[];
  readonly kills: Kills;
  readonly restMs: number | null;
  readonly judgement: Judgement;
  readonly mended: number;
  readonly engineName: string;
}

function report(size: Size, happened: Happened): ProofReport {
  const { stories, kills, restMs, judgement, mended, engineName } = happened;
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
      [`kill -9 of ${engineName}`]: kills.engine,
      'Restate wiped': kills.wipes,
      'at rest after the last kill': restMs === null ? 'never' : `${Math.round(restMs / 100) / 10} s`,
      ...(mended === 0 ? {} : { 'hosts put back by a person': mended }),
      ...judgement.figures,
    },
    failures,
  };
}
