import { reportsGpuUse, type DriverCapabilities } from '../driver.ts';

/** The mock's machines are its own, so it can do whatever an engine can. */
export const mockCapabilities: DriverCapabilities = {
  exec: true,
  setKeys: true,
  runUserData: true,
  consoleLog: true,
  metrics: true,
  gpuUse: reportsGpuUse.mock,
  events: true,
  mapsPorts: true,
  sharesNodes: true,
};
