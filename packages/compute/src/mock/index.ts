export { createMockControls, type MockControls } from './controls.ts';
export { type MockLayout, type MockNode } from './layout.ts';
export { createInMemoryStore, type MachineStore } from './machine-store.ts';
export { readMockDatabase, readMockLayout } from './mock-config.ts';
export { mockBenchmark, readMockHost } from './mock-host.ts';
export { createPostgresStore } from './mock.store.ts';
export { createMockDriver, type MockDriverOptions } from './mock-driver.ts';
