export { place, OBSERVATION_MAX_AGE_MS } from './placement.service.ts';
export { findPlacement, markReleasing, releaseAllocation, setFreesAt } from './allocations.store.ts';
export type {
  AssignedPort,
  OfferKind,
  PlacedNode,
  Placement,
  PlacementRequirements,
  PlacementRequest,
} from './placement.ts';
export {
  findCluster,
  findProvider,
  listClusters,
  listProviders,
  lockCluster,
  refreshOpenFlags,
  setProviderEnabled,
  type OpenFlagsFilter,
} from './clusters.store.ts';
export type {
  ClusterConnection,
  ClusterRecord,
  ClusterStatus,
  FleetPageRequest,
  ProviderRecord,
  ProviderRegion,
} from './clusters.ts';
export { imageForCuda } from './cuda-images.ts';
export { gpuVerification } from './fleet.wire.ts';
export { defaultImageName, tenantImages } from './images.ts';
export { applyNodeAction, removeCluster, type HasCredential } from './fleet-admin.service.ts';
export { serveFleet, type FleetRoutes } from './fleet.routes.ts';
export { toWireNode } from './fleet.wire.ts';
export {
  quarantineLostNode,
  readNodeReachability,
  removeLostNode,
  type NodeReachability,
} from './hosts.service.ts';
export { confirmWriteOffs, listWithheldNodeNames, recordWriteOff } from './write-offs.store.ts';
export { sweepMaintenance } from './maintenance.service.ts';
export {
  releaseFromWindows,
  windowsBetween,
  windowsAt,
  type NodeMaintenancePeriod,
} from './maintenance.store.ts';
export { listNodeFaults, recordNodeFaults, type NodeFault, type NodeFaultKind } from './node-faults.store.ts';
export { transitionNode, type TransitionedNode, type TransitionOptions } from './nodes.service.ts';
export type { FleetGpuType } from './gpu-models.ts';
export { findNode, findNodes, listNodes, lockCapacity, type NodeFilter } from './nodes.store.ts';
export type { NodeGpu, NodeRecord } from './nodes.ts';
export { applyFleetConfig, type RefusedCluster } from './fleet-config.ts';
export { createDriverPool, type DriverPool, type DriverPoolDeps } from './drivers.ts';
export { registerSupplierCluster, type SupplierCluster } from './supplied.service.ts';
export { FleetSync, type PollResult, type FleetSyncDeps } from './sync.ts';
export { listObservations, type ObservationRecord } from './observer.store.ts';
export {
  parseCudaRequirement,
  GPUS_PER_METAL_NODE,
  isRegionInMode,
  MB_PER_GB,
  nodeLayoutOf,
  shareOfNode,
  defaultFormFactor,
  type NodeHardware,
  type NodeShare,
  type NodeLayout,
} from './offers.ts';
export {
  sortOffers,
  serveOffers,
  toWireRentalOption,
  toWireReserveOption,
  type OfferRoutes,
} from './offers.routes.ts';
export {
  reportsGpuUtilisation,
  listConnectionTypes,
  listRegionProviders,
  type RegionProvider,
} from './regions.store.ts';
export { OfferService } from './offers.service.ts';
export { SingleFlightCache } from './recent.ts';
export { startFleetMetrics } from './figures.ts';
