export { retryWhile, retryingDriver } from './ask-again.ts';
export { describeDriver, type SuiteOptions } from './describe-driver.ts';
export type { DriverHarness, HarnessInfo, HarnessNode } from './world.ts';
