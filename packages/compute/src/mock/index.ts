export { createMockControls, type MockControls } from './controls.ts';
export { type MockLayout, type MockNode } from './layout.ts';
export { createInMemoryStore, type MachineStore } from './memory.ts';
export { readMockDatabase, readMockLayout } from './mock-configured.ts';
export { createPostgresStore } from './mock.store.ts';
export { createMockDriver, type MockDriverOptions } from './mock-driver.ts';
