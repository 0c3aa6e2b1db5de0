import { reportsGpuUse, type DriverCapabilities } from '../driver.ts';

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
