export { askAgain, askingAgain } from './ask-again.ts';
export { describeDriver, type SuiteOptions } from './describe-driver.ts';
export type { DriverWorld, WorldFacts, WorldNode } from './world.ts';
