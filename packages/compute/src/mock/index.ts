export { createMockControls, type MockControls } from './controls.ts';
export { type MockLayout, type MockNode } from './layout.ts';
export { createProcessMemory, type MockMemory } from './memory.ts';
export { readMockDatabase, readMockLayout } from './mock-configured.ts';
export { createPostgresMemory } from './mock.store.ts';
export { createMockDriver, type MockDriverOptions } from './mock-driver.ts';
