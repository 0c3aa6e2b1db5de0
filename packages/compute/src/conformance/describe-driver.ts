import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { describeAccess } from './access.ts';
import { describeCrashes } from './crash.ts';
import { describeGpus } from './gpus.ts';
import { describeRefusals } from './hostile.ts';
import { describeInside } from './inside.ts';
import { describeCreation, describeEnding } from './life.ts';
import { describeLists } from './lists.ts';
import { describePower } from './power.ts';
import { describeProof } from './proof.ts';
import { Stage } from './stage.ts';
import { describeUserData } from './user-data.ts';
import type { DriverWorld } from './world.ts';

export interface SuiteOptions {
  /** For one test, and for one that kills something. Real engines need more than the mock. */
  readonly testTimeoutMs?: number;
  readonly crashTimeoutMs?: number;
  /** For bringing the engine up and taking it down. */
  readonly hookTimeoutMs?: number;
}

/**
 * Registers the tests that every driver passes: the promises of `ComputeDriver`, one by one. The tests are independent
 * of each other; each has ids of its own and clears away what it made.
 */
export function describeDriver(name: string, world: DriverWorld, options: SuiteOptions = {}): void {
  const { testTimeoutMs = 20_000, crashTimeoutMs = 60_000, hookTimeoutMs = 60_000 } = options;
  describe(`the ${name} driver`, { timeout: testTimeoutMs }, () => {
    const stage = new Stage(world);
    beforeAll(() => stage.open(), hookTimeoutMs);
    afterEach(() => stage.clear(), crashTimeoutMs);
    afterAll(() => stage.close(), hookTimeoutMs);

    it('says truly what its engine can', () => {
      expect(stage.driver.can).toEqual(world.abilities);
    });
    describe('creation', () => {
      describeCreation(stage);
    });
    describe('ending', () => {
      describeEnding(stage);
    });
    describe('power', () => {
      describePower(stage);
    });
    describe('GPUs', () => {
      describeGpus(stage);
    });
    describe('access', () => {
      describeAccess(stage);
    });
    describe('proof', () => {
      describeProof(stage);
    });
    describe('user data', () => {
      describeUserData(stage);
    });
    describe('inside', () => {
      describeInside(stage);
    });
    describe('lists and events', () => {
      describeLists(stage);
    });
    describe('refusals', () => {
      describeRefusals(stage);
    });
    describe('crashes', () => {
      describeCrashes(stage, crashTimeoutMs);
    });
  });
}
