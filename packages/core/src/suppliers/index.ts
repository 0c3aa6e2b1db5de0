export { serveEnrolments, type EnrolmentRoutes } from './enrolment.routes.ts';
export type { EnrolmentParts } from './enrolment.service.ts';
export { EnrolmentSweep } from './enrolment.sweep.ts';
export { serveSuppliers, type SupplierRoutes } from './suppliers.routes.ts';
export { serveSupplierMoney, type SupplierMoneyRoutes } from './earnings.routes.ts';
export { feeOf, supplierRate } from './fee.ts';
export { writeDueStatements } from './statements.service.ts';
export { findListedMachine, readListedMachines } from './machines-listed.store.ts';
export {
  defaultPriceRules,
  type ListedMachine,
  type MachineApproval,
  type MachineStage,
  type MachineSupplier,
  type PriceRules,
} from './machines.ts';
export type { JoinToken } from './join-tokens.ts';
export { spendJoinToken } from './join-tokens.service.ts';
export type { Supplier, SupplierStatus } from './suppliers.ts';
export { requireApproved } from './suppliers.service.ts';
export { findSupplierOf, holdSupplierOf, lockSupplierOf, type SupplierPage } from './suppliers.store.ts';
export { startTrust } from './trust.sweep.ts';
