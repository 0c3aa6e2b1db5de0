export { userDataKind, userDataLog, type UserDataKind } from './user-data.ts';
export { DriverError, isDriverError, type DriverErrorKind } from './driver-error.ts';
export { plainText } from './plain-text.ts';
export { reportsGpuUse } from './driver.ts';
export type {
  ComputeDriver,
  DriverCapabilities,
  DriverKind,
  DriverVolume,
  DriverVolumes,
  EngineEvent,
  ExecCommand,
  ExecResult,
  Inventory,
  InventoryGpu,
  InventoryNode,
  MachineHostKey,
  MachineMetrics,
  MachinePower,
  MachineRef,
  MachineView,
  MachineSpec,
  NodeHardware,
  OwnedMachines,
  PortMapping,
  StopOptions,
} from './driver.ts';
