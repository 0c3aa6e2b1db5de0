import { describeDriver } from '../conformance/index.ts';
import { createInMemoryStore } from './index.ts';
import { mockHarness } from './suite.fixture.ts';

describeDriver(
  'mock',
  mockHarness(async () => createInMemoryStore()),
);
