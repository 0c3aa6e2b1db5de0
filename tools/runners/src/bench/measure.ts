export interface Measure {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly calls: number;
  /** Processor time of this process for one call. Unlike the rate it hardly changes when the machine is busy. */
  readonly cpuUs: number;
  /** Processor time of the pinned servers for one call; 0 when none was pinned. */
  readonly serverCpuUs: number;
}

export interface MeasureOptions {
  /** Calls under way at once. */
  readonly concurrency: number;
  readonly rounds: number;
  readonly roundMs: number;
}

/** Processor time used so far. */
export interface CpuUse {
  readonly ownUs: number;
  readonly serverUs: number;
}

export interface Round {
  readonly latenciesMs: readonly number[];
  readonly elapsedMs: number;
  readonly cpu: CpuUse;
}

type Call = () => Promise<unknown>;

/** What is called; `servers` are the pinned processes whose time it is charged with, all of them unless it names some. */
export type VariantUnderTest = Call | { readonly call: Call; readonly servers: readonly number[] };

/**
 * Measures the sides in turn, round by round, so that whatever disturbs the machine disturbs them alike. Each
 * side has one round first that does not count.
 */
export async function measureVariants<Side extends string>(
  sides: Readonly<Record<Side, VariantUnderTest>>,
  options: MeasureOptions,
  runRound: (call: Call, options: MeasureOptions, servers: readonly number[] | null) => Promise<Round>,
): Promise<Record<Side, Measure>> {
  const names = Object.keys(sides) as Side[];
  const rounds = new Map<Side, Round[]>(names.map((name) => [name, []]));
  for (let round = 0; round <= options.rounds; round += 1) {
    for (const name of names) {
      const side = sides[name];
      const result =
        typeof side === 'function'
          ? await runRound(side, options, null)
          : await runRound(side.call, options, side.servers);
      if (round > 0) rounds.get(name)?.push(result);
    }
  }
  const summaries = [...rounds].map(([name, results]) => [name, summarise(results)] as const);
  return Object.fromEntries(summaries) as Record<Side, Measure>;
}

/** Calls from `concurrency` lanes until the time is up. */
export async function measureRound(
  call: Call,
  { concurrency, roundMs }: MeasureOptions,
  readCpu: () => CpuUse,
): Promise<Round> {
  const latenciesMs: number[] = [];
  const before = readCpu();
  const startedMs = performance.now();
  const endMs = startedMs + roundMs;
  const runCalls = async (): Promise<void> => {
    for (let beginMs = performance.now(); beginMs < endMs; beginMs = performance.now()) {
      await call();
      latenciesMs.push(performance.now() - beginMs);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, runCalls));
  const elapsedMs = performance.now() - startedMs;
  const after = readCpu();
  const cpu = { ownUs: after.ownUs - before.ownUs, serverUs: after.serverUs - before.serverUs };
  return { latenciesMs, elapsedMs, cpu };
}

/** The rate is that of the middle round, which one bad round cannot move; latencies are over all of them. */
export function summarise(rounds: readonly Round[]): Measure {
  const rates = rounds.map(({ latenciesMs, elapsedMs }) => (latenciesMs.length * 1000) / elapsedMs);
  const latencies = rounds.flatMap(({ latenciesMs }) => latenciesMs).toSorted((a, b) => a - b);
  return {
    perSecond: Math.round(
      quantile(
        rates.toSorted((a, b) => a - b),
        0.5,
      ),
    ),
    p50Ms: roundTo3(quantile(latencies, 0.5)),
    p99Ms: roundTo3(quantile(latencies, 0.99)),
    calls: latencies.length,
    cpuUs: middleShare(rounds, ({ ownUs }) => ownUs),
    serverCpuUs: middleShare(rounds, ({ serverUs }) => serverUs),
  };
}

/** What one call took of it, in the middle round. */
function middleShare(rounds: readonly Round[], pick: (cpu: CpuUse) => number): number {
  const shares = rounds.map(({ cpu, latenciesMs }) => pick(cpu) / Math.max(1, latenciesMs.length));
  return Math.round(
    quantile(
      shares.toSorted((a, b) => a - b),
      0.5,
    ),
  );
}

export function quantile(sorted: readonly number[], share: number): number {
  const index = Math.min(sorted.length - 1, Math.floor(sorted.length * share));
  return sorted[index] ?? Number.NaN;
}

function roundTo3(value: number): number {
  return Math.round(value * 1000) / 1000;
}
