import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import type { LogLevel } from '@stryker-mutator/api/core';
import { Stryker } from '@stryker-mutator/core';
import { repositoryRoot, testsBeside } from './files.ts';
import { checkerName, notDrawn, type Sample } from './sample-checker.ts';
import type { TriedMutant } from './score.ts';

/**
 * Mutates the files in a copy of their package and runs the unit tests beside them for each mutant, or for a sample. Returns the
 * tried mutants. Throws when tests fail without a mutant.
 */
export async function tryMutants(
  files: readonly string[],
  sample: Sample | null = null,
): Promise<readonly TriedMutant[]> {
  const tried: TriedMutant[] = [];
  // One run per folder, because mutants of code that runs on import are tried with all tests of the run.
  for (const [folder, inFolder] of Map.groupBy(files, dirname)) {
    tried.push(...(await tryInFolder(folder, inFolder, sample)));
  }
  return tried;
}

async function tryInFolder(
  folder: string,
  files: readonly string[],
  sample: Sample | null,
): Promise<readonly TriedMutant[]> {
  const scratch = mkdtempSync(join(tmpdir(), 'millrace-mutation-'));
  const startedIn = process.cwd();
  // Stryker uses the working directory as the project.
  process.chdir(repositoryRoot);
  try {
    const configFile = join(scratch, 'vitest.config.mjs');
    writeFileSync(configFile, vitestConfig(testsBeside(folder)));
    const stryker = new Stryker({
      plugins: [
        import.meta.resolve('@stryker-mutator/vitest-runner'),
        import.meta.resolve('./sample-checker.ts'),
      ],
      testRunner: 'vitest',
      vitest: { configFile, related: false },
      coverageAnalysis: 'perTest',
      mutate: [...files],
      checkers: sample === null ? [] : [checkerName],
      [checkerName]: sample,
      concurrency: 2,
      // A mutant with an endless loop is stopped after this time plus twice the time of its tests without the mutant.
      timeoutMS: 5_000,
      timeoutFactor: 2,
      tempDirName: join(scratch, 'copies'),
      cleanTempDir: 'always',
      ignorePatterns: ['**', ...copied(folder)],
      // Both settings concern the JavaScript-based TypeScript compiler, which is not used: Node strips types.
      disableTypeChecks: false,
      tsconfigFile: 'none.json',
      reporters: [],
      // The enum exists only in the type declarations, so the member is written as a string.
      logLevel: 'error' as LogLevel,
      warnings: false,
    });
    const mutants = await stryker.runMutationTest();
    return mutants
      .filter(({ statusReason }) => statusReason !== notDrawn)
      .map((mutant) => ({ ...mutant, fileName: relative(repositoryRoot, mutant.fileName) }));
  } finally {
    process.chdir(startedIn);
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Stryker passes only a settings file to Vitest, so the tests are listed there, relative to the copy. */
function vitestConfig(include: readonly string[]): string {
  const test = {
    include,
    setupFiles: [join(import.meta.dirname, 'vitest.setup.ts')],
    // Mutants are switched on in the running module; those that need a fresh module get a fresh worker anyway.
    isolate: false,
    testTimeout: 20_000,
  };
  return `export default ${JSON.stringify({ test })};\n`;
}

/**
 * Patterns of the files in the copy: the package of the folder, or the folder if it is in none. Other packages are imported from
 * the original tree through node_modules, so only a file's own package sees its mutants.
 */
function copied(folder: string): readonly string[] {
  const copy = /^(?:apps|packages|tools)\/[^/]+/.exec(folder)?.[0] ?? folder;
  const parents = copy.split('/').map((_, index, segments) => `!${segments.slice(0, index + 1).join('/')}`);
  return [...parents, `!${copy}/**`];
}
