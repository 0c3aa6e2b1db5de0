import { createHash } from 'node:crypto';
import { CheckStatus, type Checker, type CheckResult } from '@stryker-mutator/api/check';
import type { Mutant, StrykerOptions } from '@stryker-mutator/api/core';
import { PluginKind, commonTokens, declareClassPlugin, tokens } from '@stryker-mutator/api/plugin';

export interface Sample {
  readonly seed: number;
  readonly mutantsPerFile: number;
}

export const checkerName = 'sample';
export const notDrawn = 'not drawn for this sample';

/** Stryker has no sampling. Its checkers filter mutants before they are tried; this one passes only the sampled mutants. */
class SampleChecker implements Checker {
  static readonly inject = tokens(commonTokens.options);
  readonly #sample: Sample;

  constructor(options: StrykerOptions) {
    this.#sample = options[checkerName] as Sample;
  }

  init(): Promise<void> {
    return Promise.resolve();
  }

  /** One group, because sampling needs the whole list. */
  group(mutants: Mutant[]): Promise<string[][]> {
    return Promise.resolve([mutants.map(({ id }) => id)]);
  }

  check(mutants: Mutant[]): Promise<Record<string, CheckResult>> {
    const drawn = drawSample(mutants, this.#sample);
    const results = mutants.map(({ id }): [string, CheckResult] => [
      id,
      drawn.has(id) ? { status: CheckStatus.Passed } : { status: CheckStatus.CompileError, reason: notDrawn },
    ]);
    return Promise.resolve(Object.fromEntries(results));
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.Checker, checkerName, SampleChecker)];

type Drawable = Pick<Mutant, 'id' | 'fileName' | 'location' | 'mutatorName' | 'replacement'>;

/** Draws mutants per file by seed and content, so that changes in other files do not change the sample. */
export function drawSample(mutants: readonly Drawable[], sample: Sample): ReadonlySet<string> {
  const drawn = new Set<string>();
  for (const ofFile of Map.groupBy(mutants, ({ fileName }) => fileName).values()) {
    const ranked = ofFile
      .map((mutant) => ({ id: mutant.id, rank: rankOf(mutant, sample.seed) }))
      .toSorted((a, b) => (a.rank < b.rank ? -1 : 1));
    for (const { id } of ranked.slice(0, sample.mutantsPerFile)) drawn.add(id);
  }
  return drawn;
}

function rankOf({ location, mutatorName, replacement }: Drawable, seed: number): string {
  return createHash('sha256')
    .update(JSON.stringify([seed, location, mutatorName, replacement]))
    .digest('hex');
}
