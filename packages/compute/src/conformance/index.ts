export { retryWhile, retryingDriver } from './retry.ts';
export { describeDriver, type SuiteOptions } from './describe-driver.ts';
export type { DriverHarness, HarnessInfo, HarnessNode } from './harness.ts';
