import type { ProofReport, ProofRun, Random } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import type { CoreStack } from '../../stack/core-stack.ts';
import { seedTenant, type StackTenant } from '../../stack/tenant.ts';
import { killAtRandom, type Kills } from './chaos.ts';
import { checkFinalState, waitForRentalQuiescence, type RentalCheckReport } from './checker.ts';
import type { RentalKind, ProofEnvironment } from './rental-kinds.ts';
import { rentAtRandom, CapacityQueue, type RentalScenario } from './scenarios.ts';

export interface Size {
  readonly rentals: number;
  readonly kills: number;
  readonly wipes: number;
  readonly tenants: number;
}

/** After this long without a change, a rental is stuck: TTLs end after a minute, and failed work is retried sooner. */
const STUCK_AFTER_MS = 120_000;
const REPAIR_INTERVAL_MS = 1_000;

/** Runs the same chaos for each kind of rental, because one mechanism creates, verifies, bills and deletes all kinds. */
export async function proveRentalKind(run: ProofRun, kind: RentalKind, size: Size): Promise<ProofReport> {
  const environment = await kind.open();
  const { stack } = environment;
  const rounds = keepRepairing(environment);
  try {
    const tenants: StackTenant[] = [];
    for (let nth = 0; nth < size.tenants; nth += 1) tenants.push(await seedTenant(stack, 10_000));
    const struggled = await runChaos(run, stack, tenants, { ...size, kind }).catch(async (error: Error) => {
      throw new Error(`${error.message}\n${await describeHostsSafely(environment)}`, { cause: error });
    });
    const restMs = await waitForRentalQuiescence(stack, STUCK_AFTER_MS);
    const unsettled = restMs === null ? await describeHostsSafely(environment) : null;
    const checkReport = await checkFinalState(stack, tenants, struggled.scenarios, kind);
    const left = checkReport.failures.length > 0 ? await describeHostsSafely(environment) : null;
    const repaired = await rounds.end();
    const { engineName } = environment;
    return report(size, {
      ...struggled,
      ...{ restMs, unsettled, checkReport, left, repaired, engineName },
    });
  } finally {
    await rounds.end();
    await stack.close();
  }
}

/** The hosts may be unreachable, which may be the failure itself. */
const describeHostsSafely = ({ explain }: ProofEnvironment): Promise<string> =>
  explain().catch((error: unknown) => `The hosts do not respond: ${String(error)}`);

/** Repairs hosts continuously. A round that fails, for example while the engine is dead, is repeated. */
function keepRepairing({ repairHosts }: ProofEnvironment): { end(): Promise<number> } {
  const over = new AbortController();
  let repaired = 0;
  const rounds = (async () => {
    while (!over.signal.aborted) {
      repaired += await repairHosts().catch(() => 0);
      await systemClock.sleep(REPAIR_INTERVAL_MS, over.signal).catch(() => undefined);
    }
  })();
  return {
    end: async () => {
      over.abort();
      await rounds;
      return repaired;
    },
  };
}

async function runChaos(
  run: ProofRun,
  stack: CoreStack,
  tenants: readonly StackTenant[],
  size: Size & { readonly kind: RentalKind },
): Promise<Pick<ChaosResult, 'scenarios' | 'kills' | 'waitedInLine'>> {
  const scenarios: RentalScenario[] = [];
  const room = new CapacityQueue();
  const random: Random = run.random.fork(1);
  const over = new AbortController();
  const kills = killAtRandom(stack, run.random.fork(2), {
    ...size,
    // Kills follow the number of rentals, not time, so that a busy machine gets as many as an idle one.
    progress: () => scenarios.length,
    signal: over.signal,
    note: run.note,
  });
  const lines = tenants.map(async (tenant, line) => {
    for (let nth = line; nth < size.rentals; nth += tenants.length) {
      const scenario: RentalScenario = {
        tenant,
        nth,
        kind: size.kind,
        id: null,
        refusals: 0,
        outcome: 'unknown',
      };
      scenarios.push(scenario);
      await rentAtRandom(scenario, room, random.fork(nth));
      await systemClock.sleep(random.int(0, 400));
    }
  });
  const finished = Promise.all(lines).finally(() => over.abort());
  const [, made] = await Promise.all([finished, kills]);
  return { scenarios, kills: made, waitedInLine: room.total };
}

interface ChaosResult {
  readonly scenarios: readonly RentalScenario[];
  readonly kills: Kills;
  readonly waitedInLine: number;
  readonly restMs: number | null;
  /** State of the hosts if quiescence was not reached, else null. */
  readonly unsettled: string | null;
  readonly checkReport: RentalCheckReport;
  /** State of the hosts after a failed check, else null. */
  readonly left: string | null;
  readonly repaired: number;
  readonly engineName: string;
}

function report(size: Size, happened: ChaosResult): ProofReport {
  const { scenarios, kills, waitedInLine, restMs, unsettled, checkReport, left, repaired, engineName } =
    happened;
  const count = (outcome: RentalScenario['outcome']): number =>
    scenarios.filter((scenario) => scenario.outcome === outcome).length;
  const failures = [...checkReport.failures, ...(left === null ? [] : [left])];
  if (unsettled !== null) failures.push(`not quiescent after the last kill: ${unsettled}`);
  if (kills.total < size.kills) failures.push(`only ${kills.total} of ${size.kills} kills were made`);
  return {
    figures: {
      'rentals accepted': scenarios.length,
      'left running': count('left running'),
      'ended by their tenant': count('ended'),
      'refusals for lack of capacity before': scenarios.reduce((sum, { refusals }) => sum + refusals, 0),
      ...(waitedInLine === 0 ? {} : { 'queued for capacity': waitedInLine }),
      'kill -9 of an api': kills.api,
      'kill -9 of a worker': kills.worker,
      'kill -9 of Restate': kills.restate,
      [`kill -9 of ${engineName}`]: kills.engine,
      'Restate wiped': kills.wipes,
      'quiescent after the last kill': restMs === null ? 'never' : `${Math.round(restMs / 100) / 10} s`,
      ...(repaired === 0 ? {} : { 'hosts resumed by an operator': repaired }),
      ...checkReport.figures,
    },
    failures,
  };
}
