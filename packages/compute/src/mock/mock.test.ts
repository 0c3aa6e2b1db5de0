import { describeDriver } from '../conformance/index.ts';
import { createInMemoryStore } from './index.ts';
import { mockHarness } from './mock-harness.fixture.ts';

describeDriver(
  'mock',
  mockHarness(async () => createInMemoryStore()),
);
