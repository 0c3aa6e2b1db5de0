export interface Measure {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly calls: number;
  /** Processor time of this process per call. Unlike the rate, it hardly changes on a busy machine. */
  readonly cpuUs: number;
  /** Processor time of the pinned servers per call; 0 without pinned servers. */
  readonly serverCpuUs: number;
}

export interface MeasureOptions {
  /** Calls in flight at once. */
  readonly concurrency: number;
  readonly rounds: number;
  readonly roundMs: number;
}

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

/** `servers` are the pinned processes whose processor time is counted for the variant; by default all. */
export type VariantUnderTest = Call | { readonly call: Call; readonly servers: readonly number[] };

/** Variants take turns, so that disturbances of the machine affect all of them. The first round of each is not counted. */
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

/** Makes calls from `concurrency` concurrent loops until the time is up. */
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

/** The rate is that of the median round, which one bad round cannot change; latencies are over all rounds. */
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

/** Processor time per call in the median round. */
function middleShare(rounds: readonly Round[], pick: (cpu: CpuUse) => number): number {
  const shares = rounds.map(({ cpu, latenciesMs }) => pick(cpu) / Math.max(1, latenciesMs.length));
  return Math.round(
    quantile(
      shares.toSorted((a, b) => a - b),
      0.5,
    ),
  );
}

export const median = (values: readonly number[]): number =>
  quantile(
    values.toSorted((left, right) => left - right),
    0.5,
  );

export function quantile(sorted: readonly number[], share: number): number {
  const index = Math.min(sorted.length - 1, Math.floor(sorted.length * share));
  return sorted[index] ?? Number.NaN;
}

function roundTo3(value: number): number {
  return Math.round(value * 1000) / 1000;
}
