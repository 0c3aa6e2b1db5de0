import { describeDriver } from '../conformance/index.ts';
import { createProcessMemory } from './index.ts';
import { mockWorld } from './suite.fixture.ts';

describeDriver(
  'mock',
  mockWorld(async () => createProcessMemory()),
);
