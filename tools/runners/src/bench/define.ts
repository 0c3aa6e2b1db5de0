import type { Measure, MeasureOptions, VariantUnderTest } from './measure.ts';

/** A limit that the measured value keeps or breaks. */
export interface BenchAssertion {
  readonly name: string;
  readonly limit: number;
  readonly value: number;
  readonly ok: boolean;
}

export const atLeast = (name: string, limit: number, value: number): BenchAssertion => ({
  name,
  limit,
  value,
  ok: value >= limit,
});
export const atMost = (name: string, limit: number, value: number): BenchAssertion => ({
  name,
  limit,
  value,
  ok: value <= limit,
});

export interface BenchRun {
  /** Measures several sides in the same run; the engine bare is one of them. `--quick` shortens the rounds. */
  measure<Side extends string>(
    sides: Readonly<Record<Side, VariantUnderTest>>,
    options?: Partial<MeasureOptions>,
  ): Promise<Record<Side, Measure>>;
  /** Gives a server process the server cores for the length of this run. */
  pinServer(pid: number): void;
  note(line: string): void;
  /** To see that it runs, not to quote: a bench that takes long by its size takes a smaller one. */
  readonly quick: boolean;
}

export interface CountRun {
  note(line: string): void;
}

export interface BenchReport {
  readonly figures: Readonly<Record<string, Measure | number>>;
  readonly bars: readonly BenchAssertion[];
}

export interface Bench {
  readonly name: string;
  /** What is compared with what, in one sentence. */
  readonly about: string;
  /**
   * The short form, which CI runs: figures and bars that do not depend on the machine's speed, such as statements, query
   * plans, bytes and allocations. Null if this bench measures speed alone.
   */
  readonly counts: ((run: CountRun) => Promise<BenchReport>) | null;
  readonly run: (run: BenchRun) => Promise<BenchReport>;
}

export function defineBench(bench: Bench): Bench {
  return bench;
}
