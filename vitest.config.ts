import { defineConfig } from 'vitest/config';
import { InterleavedSequencer } from './tools/dev/test-order.ts';

// CI runs four projects: `unit` needs only Node, and `int` and `e2e` need the engines, which their global setup starts. For `e2e`,
// CI starts engines that require TLS and credentials. `release` makes releases and installs them in containers. Run the slower two by hand: `browser` tests the console in a browser (one
// journey is in `int`), `slow` tests engines at full size, with faults or for long.
// Two files run at once, because the smallest machine has two cores; `npm run test:int` runs four, because they wait for engines.
// Time limits end tests that hang; they do not measure the speed of the machine.
// Files of one worker share modules, because importing them for each file took more than half of the time. So a test must not
// leave process-wide state.
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
          exclude: [
            '**/node_modules/**',
            '**/*.{int,browser,slow,release}.test.ts',
            'tools/lint/fixtures/**',
          ],
          testTimeout: HANG_MS,
          hookTimeout: HANG_MS,
        },
      },
      ...[
        { name: 'int', include: ['{apps,packages,tools,tests}/**/*.int.test.ts'], exclude: ['tests/e2e/**'] },
        { name: 'e2e', include: ['tests/e2e/**/*.int.test.ts'], exclude: [] },
        { name: 'browser', include: ['{apps,packages,tools,tests}/**/*.browser.test.ts'], exclude: [] },
        { name: 'release', include: ['{tools,tests}/**/*.release.test.ts'], exclude: [] },
        { name: 'slow', include: ['{apps,packages,tools,tests}/**/*.slow.test.ts'], exclude: [] },
      ].map(({ name, include, exclude }) => ({
        test: {
          name,
          include,
          exclude: ['**/node_modules/**', 'tools/lint/fixtures/**', ...exclude],
          globalSetup: ['@millrace/testing/global-setup'],
          testTimeout: HANG_MS,
          hookTimeout: HANG_MS,
        },
      })),
    ],
  },
});
