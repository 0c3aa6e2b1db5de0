export {
  abandonedAddresses,
  hasRentalEnded,
  lockRentals,
  placedInstances,
  presentMachines,
  rentalLabels,
  rentalWireId,
  runningRentalTotals,
  type LockedRental,
} from './rental-lookup.store.ts';
export { isWireId } from './wire-id.ts';
