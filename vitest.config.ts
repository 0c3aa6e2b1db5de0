import { defineConfig } from 'vitest/config';
import { InterleavedSequencer } from './tools/dev/test-order.ts';

// Four projects: `unit` needs nothing but Node, and `int` needs the real engines, which its global setup brings up with the
// services tool: CI runs these two. What takes too long for every run is run by hand for each change that concerns it: `browser`,
// the console in a browser but for the journey that is in `int`, and `slow`, what engines do at full size, at their worst
// or for long. Two files run at once, for the smallest machine has two cores; of `int`, which waits for engines, `npm run test:int`
// runs four.
// Time limits end tests that hang; none judges how fast the machine is.
// Files of one worker share its modules: importing them anew for each file took more than half of the time. So a test
// leaves no process-wide state behind, as it must not depend on the order of files anyway.
const HANG_MS = 600_000;

export default defineConfig({
  test: {
    maxWorkers: 2,
    isolate: false,
    expect: { poll: { timeout: 60_000 } },
    sequence: { sequencer: InterleavedSequencer },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{apps,packages,tools}/**/*.test.ts', 'tests/**/*.test.ts', 'bench/**/*.test.ts'],
          exclude: ['**/node_modules/**', '**/*.{int,browser,slow}.test.ts', 'tools/lint/fixtures/**'],
          testTimeout: HANG_MS,
          hookTimeout: HANG_MS,
        },
      },
      {
        test: {
          name: 'int',
          include: ['{apps,packages,tools}/**/*.int.test.ts', 'tests/**/*.int.test.ts'],
          exclude: ['**/node_modules/**', 'tools/lint/fixtures/**'],
          globalSetup: ['@millrace/testing/global-setup'],
          testTimeout: HANG_MS,
          hookTimeout: HANG_MS,
        },
      },
      ...['browser', 'slow'].map((name) => ({
        test: {
          name,
          include: [`{apps,packages,tools,tests}/**/*.${name}.test.ts`],
          exclude: ['**/node_modules/**', 'tools/lint/fixtures/**'],
          globalSetup: ['@millrace/testing/global-setup'],
          testTimeout: HANG_MS,
          hookTimeout: HANG_MS,
        },
      })),
    ],
  },
});
