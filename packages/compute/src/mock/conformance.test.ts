import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { faultyDriverCases, untouched } from './faulty-driver.fixture.ts';

const report = z.object({
  testResults: z.array(
    z.object({
      assertionResults: z.array(
        z.object({ ancestorTitles: z.array(z.string()), title: z.string(), status: z.string() }),
      ),
    }),
  ),
});

const vitest = path.join(
  path.dirname(createRequire(import.meta.url).resolve('vitest/package.json')),
  'vitest.mjs',
);
const exactly = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
const tests = new Set(Object.values(faultyDriverCases).map(({ caughtBy }) => caughtBy));
/** Runs the detecting test of each faulty driver, and all of these tests with the correct driver. */
const pattern = [
  ...Object.entries(faultyDriverCases).map(
    ([name, { caughtBy }]) => `the ${exactly(name)} driver .* ${exactly(caughtBy)}$`,
  ),
  ...[...tests].map((title) => `the ${untouched} driver .* ${exactly(title)}$`),
].join('|');

/** The status of each test, by driver and title. */
async function runSuite(): Promise<Map<string, string>> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mr-suite-'));
  try {
    const file = path.join(folder, 'report.json');
    const config = path.join(folder, 'vitest.config.mjs');
    await writeFile(config, `export default { test: { include: ['faulty-driver-suite.fixture.ts'] } };\n`);
    const options = ['--reporter=json', `--outputFile=${file}`, '-t', pattern];
    const argv = [vitest, 'run', '--config', config, '--root', import.meta.dirname, ...options];
    const output = await new Promise<string>((resolve) => {
      // Exits with a failure on purpose; only the report counts.
      execFile(process.execPath, argv, { cwd: import.meta.dirname }, (_error, stdout, stderr) => {
        resolve(`${stdout}\n${stderr}`);
      });
    });
    const text = await readFile(file, 'utf8').catch(() => expect.fail(`There is no report:\n${output}`));
    const { testResults } = report.parse(JSON.parse(text));
    const ended = testResults.flatMap(({ assertionResults }) => assertionResults);
    const ran = ended.filter(({ status }) => status === 'passed' || status === 'failed');
    return new Map(ran.map(({ ancestorTitles: [of], title, status }) => [`${of} > ${title}`, status]));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

describe('the conformance suite detects a driver that', () => {
  let statuses: ReadonlyMap<string, string>;
  beforeAll(async () => {
    statuses = await runSuite();
  });

  for (const [name, { caughtBy }] of Object.entries(faultyDriverCases)) {
    it(name, () => {
      expect(statuses.get(`the ${untouched} driver > ${caughtBy}`)).toBe('passed');
      expect(statuses.get(`the ${name} driver > ${caughtBy}`)).toBe('failed');
    });
  }
});
