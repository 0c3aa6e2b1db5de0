export { describeDriver, type SuiteOptions } from './describe-driver.ts';
export type { DriverWorld, WorldFacts, WorldNode } from './world.ts';
