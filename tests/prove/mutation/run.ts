import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import type { LogLevel } from '@stryker-mutator/api/core';
import { Stryker } from '@stryker-mutator/core';
import { repositoryRoot, testsBeside } from './files.ts';
import { checkerName, notDrawn, type Sample } from './sample-checker.ts';
import type { TriedMutant } from './score.ts';

/**
 * Mutates the files in a copy of their packages outside the tree and tries every mutant, or a sample of each file, with
 * the unit tests beside it. Gives the mutants that were tried. Throws when tests fail without any mutant.
 */
export async function tryMutants(
  files: readonly string[],
  sample: Sample | null = null,
): Promise<readonly TriedMutant[]> {
  const tried: TriedMutant[] = [];
  // Folder by folder, because mutants of what runs on import are tried with all tests that take part.
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
  // Stryker takes the folder that it is started in for the project.
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
      // An endless loop is given up after this and twice the time that its tests took without it.
      timeoutMS: 5_000,
      timeoutFactor: 2,
      tempDirName: join(scratch, 'copies'),
      cleanTempDir: 'always',
      ignorePatterns: ['**', ...copied(folder)],
      // Both concern the TypeScript compiler of old, which nothing here uses: Node strips types.
      disableTypeChecks: false,
      tsconfigFile: 'none.json',
      reporters: [],
      // The enum exists in the declarations alone, so that its member has to be written out.
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

/** Stryker hands vitest a file of settings and nothing else; which tests take part is said in it, relative to the copy. */
function vitestConfig(include: readonly string[]): string {
  const test = {
    include,
    setupFiles: [join(import.meta.dirname, 'vitest.setup.ts')],
    // A mutant is switched on inside the running module; those that need a fresh one get a fresh worker anyway.
    isolate: false,
    testTimeout: 20_000,
  };
  return `export default ${JSON.stringify({ test })};\n`;
}

/**
 * What the copy holds: the package that the folder is in, or the folder alone when it is in none. Packages reach each
 * other through node_modules, and so as they are in the tree: a mutant is met by its own package only.
 */
function copied(folder: string): readonly string[] {
  const copy = /^(?:apps|packages|tools)\/[^/]+/.exec(folder)?.[0] ?? folder;
  const parents = copy.split('/').map((_, index, segments) => `!${segments.slice(0, index + 1).join('/')}`);
  return [...parents, `!${copy}/**`];
}
