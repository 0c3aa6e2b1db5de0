export { serveInstances, type InstanceRoutes } from './instances/instances.routes.ts';
export { createListing, readListedRecords, type Listing, type ListingOptions } from './listing/listing.ts';
export { serveListing, type ListingRoutes } from './listing/listing.routes.ts';
export { gpuSummaryOf, type GpuSummary } from './listing/summary.ts';
export type { ListedRecord, MachineRecord } from './listing/machine-record.ts';
export { startHostnames, type HostnamesDeps } from './hostnames/hostnames.service.ts';
