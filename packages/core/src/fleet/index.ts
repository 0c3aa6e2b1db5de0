export { place, OBSERVATION_MAX_AGE_MS } from './placement/placement.service.ts';
export {
  findPlacement,
  markReleasing,
  releaseAllocation,
  setFreesAt,
} from './placement/allocations.store.ts';
export type {
  AssignedPort,
  PlacedNode,
  Placement,
  PlacementRequirements,
  PlacementRequest,
} from './placement/placement.ts';
export {
  findCluster,
  findProvider,
  listClusters,
  listProviders,
  lockCluster,
  refreshOpenFlags,
  setProviderEnabled,
  type OpenFlagsFilter,
} from './inventory/clusters.store.ts';
export type {
  ClusterConnection,
  ClusterRecord,
  ClusterStatus,
  FleetPageRequest,
  ProviderRecord,
  ProviderRegion,
} from './inventory/clusters.ts';
export { imageForCuda } from './inventory/cuda-images.ts';
export { gpuVerification } from './admin/fleet.wire.ts';
export { defaultImageName, tenantImages } from './inventory/images.ts';
export { applyNodeAction, removeCluster, type HasCredential } from './admin/fleet-admin.service.ts';
export { serveFleet, type FleetRoutes } from './admin/fleet.routes.ts';
export { toWireNode } from './admin/fleet.wire.ts';
export {
  quarantineLostNode,
  readNodeReachability,
  removeLostNode,
  type NodeReachability,
} from './maintenance/node-loss.service.ts';
export {
  isNodeInUse,
  quarantineNodeInUse,
  quarantineNodeWithUnknownMachine,
  quarantineUncleanNode,
  quarantineUncleanNodeByName,
} from './maintenance/quarantine.service.ts';
export { confirmWriteOffs, listWithheldNodeNames, recordWriteOff } from './inventory/write-offs.store.ts';
export { sweepMaintenance } from './maintenance/maintenance.service.ts';
export {
  releaseFromWindows,
  windowsBetween,
  windowsAt,
  type NodeMaintenancePeriod,
} from './maintenance/maintenance.store.ts';
export {
  listNodeFaults,
  recordNodeFaults,
  type NodeFault,
  type NodeFaultKind,
} from './maintenance/node-faults.store.ts';
export { transitionNode, type TransitionedNode, type TransitionOptions } from './inventory/nodes.service.ts';
export type { FleetGpuType } from './inventory/gpu-models.ts';
export {
  currentClusters,
  marketplaceNodes,
  nodeHardwareText,
  nodeName,
  nodesInService,
  observedNodes,
  providerVariantsText,
} from './inventory/fleet-fragments.store.ts';
export {
  countFaults,
  countOutages,
  hadFaultSince,
  listFaultsSince,
  listOutagesAndReturns,
  nodeHistory,
  nodesWithFaultsSince,
  readStateChangesSince,
} from './maintenance/node-history.store.ts';
export { listMarketplaceNodeIds, nodeFactsText } from './offers/node-facts.store.ts';
export { findNode, findNodes, listNodes, lockCapacity, type NodeFilter } from './inventory/nodes.store.ts';
export type { NodeGpu, NodeRecord, OfferKind } from './inventory/nodes.ts';
export { applyFleetConfig, type RefusedCluster } from './admin/fleet-config.ts';
export { createDriverPool, type DriverPool, type DriverPoolDeps } from './inventory/driver-pool.ts';
export { registerSupplierCluster, type SupplierCluster } from './admin/supplier-clusters.service.ts';
export { FleetSync, type PollResult, type FleetSyncDeps } from './inventory/sync.ts';
export { listPlannedMaintenance, type PlannedMaintenance } from './maintenance/planned-maintenance.store.ts';
export { readRegionHealth } from './inventory/region-health.store.ts';
export { listObservations, type ObservationRecord } from './inventory/cluster-observation.store.ts';
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
} from './offers/offers.ts';
export {
  sortOffers,
  serveOffers,
  toWireRentalOption,
  toWireReserveOption,
  type OfferRoutes,
} from './offers/offers.routes.ts';
export {
  reportsGpuUtilisation,
  listConnectionTypes,
  listRegionProviders,
  type RegionProvider,
} from './offers/regions.store.ts';
export { OfferService } from './offers/offers.service.ts';
export { SingleFlightCache } from './offers/single-flight-cache.ts';
export { countGpus, countNodes, type GpuCounts } from './admin/fleet-metrics.store.ts';
export { startFleetMetrics } from './admin/fleet-metrics.ts';
export { takesSuppliersMachines } from './inventory/clusters.ts';
