import { describeDriver } from '../conformance/index.ts';
import { createProcessMemory } from './index.ts';
import { sabotaged, sabotages, untouched, type Sabotage } from './sabotage.fixture.ts';
import { mockWorld } from './suite.fixture.ts';

// Run by conformance.test.ts in a process of its own, where tests fail without failing anything else.
const good: Sabotage['break'] = () => ({});
const all = Object.entries(sabotages).map(([name, sabotage]) => [name, sabotage.break] as const);
for (const [name, broken] of [...all, [untouched, good] as const]) {
  const world = mockWorld(async () => createProcessMemory());
  describeDriver(name, {
    ...world,
    async connect() {
      const driver = await world.connect();
      return sabotaged(driver, broken(driver));
    },
  });
}
