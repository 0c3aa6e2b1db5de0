export { place, UNWATCHED_MS } from './placement.service.ts';
export { findPlacement, markReleasing, releaseAllocation, setFreesAt } from './allocations.store.ts';
export type { GivenPort, Offer, PlacedNode, Placement, PlacementNeed, PlacementWish } from './placement.ts';
export {
  findCluster,
  findProvider,
  listClusters,
  listProviders,
  lockCluster,
  refreshOpen,
  switchProvider,
  type OpenFilter,
} from './clusters.store.ts';
export type {
  ClusterReach,
  ClusterRecord,
  ClusterStatus,
  FleetPage,
  ProviderRecord,
  ProviderRegion,
} from './clusters.ts';
export { cudaImageOf } from './cuda-images.ts';
export { gpuVerification } from './fleet.wire.ts';
export { defaultImageOf, tenantImages } from './images.ts';
export { actOnNode, removeCluster, type KnowsCredential } from './fleet-admin.service.ts';
export { serveFleet, type FleetRoutes } from './fleet.routes.ts';
export { toWireNode } from './fleet.wire.ts';
export { keepOutOfUse, readHost, retireNode, type Host } from './hosts.service.ts';
export { confirmWriteOffs, listWithheld, noteWriteOff } from './write-offs.store.ts';
export { sweepMaintenance } from './maintenance.service.ts';
export { leaveNode, windowsBetween, windowsOf, type NodeAway } from './maintenance.store.ts';
export { listNodeFaults, noteNodeFaults, type NodeFault, type NodeFaultKind } from './node-faults.store.ts';
export { moveNode, type MovedNode, type MoveOptions } from './nodes.service.ts';
export type { FleetGpuType } from './gpu-models.ts';
export { findNode, findNodes, listNodes, lockCapacity, type NodeFilter } from './nodes.store.ts';
export type { NodeGpu, NodeRecord } from './nodes.ts';
export { applyFleetConfig, type RefusedCluster } from './fleet-config.ts';
export { createDriverPool, type DriverPool, type DriverPoolParts } from './drivers.ts';
export { registerSuppliedCluster, type SuppliedCluster } from './supplied.service.ts';
export { FleetSync, type LookReport, type SyncParts } from './sync.ts';
export { readWatches, type WatchState } from './observer.store.ts';
export {
  cudaNumber,
  GPUS_OF_A_METAL_NODE,
  isRegionOfMode,
  MB_OF_A_GB,
  shapeOf,
  shareOfNode,
  usualFormFactor,
  type NodeHardware,
  type NodeShare,
  type Shape,
} from './offers.ts';
export {
  inOrder,
  serveOffers,
  toWireRentalOption,
  toWireReserveOption,
  type OfferRoutes,
} from './offers.routes.ts';
export { readGpuUse, readNetworks, readRegion, type RegionOffer } from './regions.store.ts';
export { OfferBook } from './offers.service.ts';
export { Recent } from './recent.ts';
export { startFleetFigures } from './figures.ts';
