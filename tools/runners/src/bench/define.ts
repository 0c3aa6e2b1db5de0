import type { Measure, MeasureOptions, VariantUnderTest } from './measure.ts';

/** A limit for a measured value. */
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
  /** Measures several variants, including the baseline, in the same run. `--quick` shortens the rounds. */
  measure<Side extends string>(
    sides: Readonly<Record<Side, VariantUnderTest>>,
    options?: Partial<MeasureOptions>,
  ): Promise<Record<Side, Measure>>;
  /** Pins a server process to the server cores for this run. */
  pinServer(pid: number): void;
  note(line: string): void;
  /** The run only checks that the bench works, so a large bench should use a smaller size. */
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
  /** One sentence that says what is compared. */
  readonly about: string;
  /** Short form for CI, with figures that do not depend on the machine's speed. Null if the bench only measures speed. */
  readonly counts: ((run: CountRun) => Promise<BenchReport>) | null;
  readonly run: (run: BenchRun) => Promise<BenchReport>;
}

export function defineBench(bench: Bench): Bench {
  return bench;
}
