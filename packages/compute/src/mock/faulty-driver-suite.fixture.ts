import { describeDriver } from '../conformance/index.ts';
import { createInMemoryStore } from './index.ts';
import {
  makeFaultyDriver,
  faultyDriverCases,
  untouched,
  type FaultyDriverCase,
} from './faulty-driver.fixture.ts';
import { mockHarness } from './mock-harness.fixture.ts';

// Run by conformance.test.ts in a separate process, because its tests fail on purpose.
const good: FaultyDriverCase['break'] = () => ({});
const all = Object.entries(faultyDriverCases).map(([name, sabotage]) => [name, sabotage.break] as const);
for (const [name, broken] of [...all, [untouched, good] as const]) {
  const harness = mockHarness(async () => createInMemoryStore());
  describeDriver(name, {
    ...harness,
    async connect() {
      const driver = await harness.connect();
      return makeFaultyDriver(driver, broken(driver));
    },
  });
}
