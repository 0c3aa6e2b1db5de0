export { feeOf, supplierRate } from './fee.ts';
export { findListedMachine, readListedMachines } from './machines-listed.store.ts';
export type { ListedMachine, MachineApproval, MachineStage, MachineSupplier } from './machines.ts';
export type { Supplier, SupplierStatus } from './suppliers.ts';
